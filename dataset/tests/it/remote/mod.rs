//! Datasets on real servers, over real sockets, with faults in between.

mod faults;
mod server;
