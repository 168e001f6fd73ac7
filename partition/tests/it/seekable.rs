//! The seekable family: bijections, whatever the numbers.

mod bijection;
mod screens;
mod windows;
