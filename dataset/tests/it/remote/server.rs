//! A web server on the loopback interface that serves a directory, well or badly.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use lockstep_dataset::HashAlgorithm;
use nix::sys::socket::{setsockopt, sockopt};

/// What befalls an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This status instead of the object.
    Status(u16),
    /// The connection is reset after this many bytes.
    ResetAfter(usize),
    /// The connection is closed after this many bytes.
    CloseAfter(usize),
    /// Nothing more comes after this many bytes.
    StallAfter(usize),
    /// The connection is closed after this many bytes, but not before [`Server::let_go`].
    HoldAfter(usize),
    /// The first bytes only, as if they were all.
    Truncate(usize),
    /// Another byte at this place.
    Spoil(usize),
    /// The whole object, whatever part was asked for.
    IgnoreRange,
    /// Something later than it should.
    Late(Duration),
}

/// A request as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) name: String,
    pub(crate) range: Option<String>,
    pub(crate) if_match: Option<String>,
}

/// The server, which ends when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    dir: PathBuf,
    faults: Mutex<HashMap<String, Vec<Fault>>>,
    always: Mutex<Option<Fault>>,
    requests: Mutex<Vec<Request>>,
    /// Whether held answers may end.
    let_go: Mutex<bool>,
    may_go: Condvar,
    closed: AtomicBool,
}

impl Server {
    pub(crate) fn start(dir: &Path) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            dir: dir.to_owned(),
            faults: Mutex::default(),
            always: Mutex::default(),
            requests: Mutex::default(),
            let_go: Mutex::default(),
            may_go: Condvar::new(),
            closed: AtomicBool::new(false),
        });
        std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                for stream in listener.incoming() {
                    if shared.closed.load(Ordering::Relaxed) {
                        return;
                    }
                    let shared = Arc::clone(&shared);
                    // A client that goes away is no fault of the server.
                    std::thread::spawn(move || stream.and_then(|stream| shared.serve(&stream)));
                }
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/data", self.address)
    }

    /// What befalls the next answers with an object, in this order.
    pub(crate) fn fail(&self, name: &str, faults: impl IntoIterator<Item = Fault>) {
        let mut faults: Vec<_> = faults.into_iter().collect();
        faults.reverse();
        self.shared.faults.lock().unwrap().insert(name.to_owned(), faults);
    }

    /// What befalls all other answers.
    pub(crate) fn always(&self, fault: Option<Fault>) {
        *self.shared.always.lock().unwrap() = fault;
    }

    /// Lets all held answers end, also those to come.
    pub(crate) fn let_go(&self) {
        *self.shared.let_go.lock().unwrap() = true;
        self.shared.may_go.notify_all();
    }

    /// The requests for an object so far.
    pub(crate) fn requests(&self, name: &str) -> Vec<Request> {
        let requests = self.shared.requests.lock().unwrap();
        requests.iter().filter(|request| request.method == "GET" && request.name == name).cloned().collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.let_go();
        self.shared.closed.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    /// Answers one request and closes the connection.
    fn serve(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        let request = read_request(stream)?;
        self.requests.lock().unwrap().push(request.clone());
        let fault = self.faults.lock().unwrap().get_mut(&request.name).and_then(Vec::pop);
        let fault = fault.or(*self.always.lock().unwrap()).filter(|_| request.method == "GET");
        if let Some(Fault::Late(time)) = fault {
            std::thread::sleep(time);
        }
        if let Some(Fault::Status(status)) = fault {
            return write!(stream, "HTTP/1.1 {status} Fault\r\nContent-Length: 5\r\nConnection: close\r\n\r\nfault");
        }
        let Ok(mut body) = fs::read(self.dir.join(&request.name)) else {
            return write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        };
        let tag = format!("\"{}\"", HashAlgorithm::Xxh64.hash(&body).unwrap());
        if request.if_match.as_ref().is_some_and(|wanted| *wanted != tag) {
            return write!(
                stream,
                "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
        match fault {
            Some(Fault::Truncate(length)) => body.truncate(length),
            Some(Fault::Spoil(at)) => body[at] ^= 1,
            _ => {}
        }
        let range = request.range.as_deref().filter(|_| fault != Some(Fault::IgnoreRange));
        let total = body.len();
        let (status, part) = match range.map(|range| parse_range(range, total)) {
            None => ("200 OK".to_owned(), 0..total),
            Some(part) => {
                (format!("206 Partial Content\r\nContent-Range: bytes {}-{}/{total}", part.start, part.end - 1), part)
            }
        };
        let body = &body[part];
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nETag: {tag}\r\nLast-Modified: Tue, 15 Nov 1994 12:45:26 GMT\r\n\
             Connection: close\r\n\r\n",
            body.len()
        )?;
        if request.method == "HEAD" {
            return Ok(());
        }
        match fault {
            Some(Fault::CloseAfter(length)) => stream.write_all(&body[..length.min(body.len())]),
            Some(Fault::ResetAfter(length)) => {
                stream.write_all(&body[..length.min(body.len())])?;
                // Closing drops what is still under way.
                std::thread::sleep(Duration::from_millis(20));
                setsockopt(&stream, sockopt::Linger, &nix::libc::linger { l_onoff: 1, l_linger: 0 })?;
                Ok(())
            }
            Some(Fault::StallAfter(length)) => {
                stream.write_all(&body[..length.min(body.len())])?;
                // Until the client gives up.
                stream.read_to_end(&mut Vec::new()).map(|_| ())
            }
            Some(Fault::HoldAfter(length)) => {
                stream.write_all(&body[..length.min(body.len())])?;
                let gate = self.let_go.lock().unwrap();
                drop(self.may_go.wait_while(gate, |let_go| !*let_go).unwrap());
                Ok(())
            }
            _ => stream.write_all(body),
        }
    }
}

fn read_request(stream: &TcpStream) -> std::io::Result<Request> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().ok_or(std::io::ErrorKind::UnexpectedEof)??;
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut request = Request {
        method: method.to_owned(),
        name: path.trim_start_matches("/data/").to_owned(),
        range: None,
        if_match: None,
    };
    for line in lines {
        let line = line?;
        let Some((key, value)) = line.split_once(": ") else { break };
        match key.to_ascii_lowercase().as_str() {
            "range" => request.range = Some(value.to_owned()),
            "if-match" => request.if_match = Some(value.to_owned()),
            _ => {}
        }
    }
    Ok(request)
}

/// `bytes=10-19` or `bytes=10-`.
fn parse_range(text: &str, total: usize) -> std::ops::Range<usize> {
    let (start, end) = text.strip_prefix("bytes=").and_then(|text| text.split_once('-')).expect("a range of bytes");
    let end = if end.is_empty() { total } else { end.parse::<usize>().unwrap() + 1 };
    start.parse().unwrap()..end.min(total)
}
