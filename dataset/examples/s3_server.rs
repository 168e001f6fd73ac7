//! Serves a directory as a bucket of S3, to try things out: `cargo run --example s3_server -- DIR [PORT]`.
//!
//! It prints what to set in the environment to read datasets in the directory as `s3://bucket/NAME`. For tests and trials
//! only: anybody who can reach the port and reads this file has the keys.

#![expect(clippy::print_stdout, reason = "it is for people to read")]

#[path = "s3_server/server.rs"]
mod server;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("usage: s3_server DIR [PORT]")?);
    let port = match arguments.next() {
        Some(port) => port.to_str().ok_or("the port is not a number")?.parse()?,
        None => 0,
    };
    let server = server::S3Server::start(&dir, port)?;
    println!("export AWS_ENDPOINT_URL={}", server.endpoint());
    println!("export AWS_ACCESS_KEY_ID={} AWS_SECRET_ACCESS_KEY={}", server::KEY_ID, server::SECRET);
    println!("# s3://{}/... is {}; end with Ctrl-C", server::BUCKET, dir.display());
    loop {
        std::thread::park();
    }
}
