//! Datasets that the original wrote decode to what was written.

use lockstep_dataset::value::{NdArray, Scalar, Value};
use lockstep_dataset::{Sample, Shard};
use serde_json::json;

use crate::support::open_fixture;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn scalar(scalar: Scalar) -> serde_json::Value {
    let size = usize::try_from(scalar.dtype().size()).unwrap();
    json!({"dtype": scalar.dtype().name(), "hex": hex(&scalar.to_le_bytes()[..size])})
}

fn array(array: NdArray<'_>) -> serde_json::Value {
    let shape: Vec<_> = array.shape().collect();
    json!({"dtype": array.dtype().name(), "shape": shape, "hex": hex(array.bytes())})
}

/// A value as `expected.jsonl` has it. Large integers are compared as floating-point numbers, as JSON is read here.
fn expected_form(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::Bytes(bytes) => json!({"hex": hex(bytes)}),
        Value::Str(text) => json!(text),
        Value::Int(int) => json!(int),
        Value::BigInt(digits) => serde_json::from_str(digits).unwrap(),
        Value::Float(float) => json!(float),
        Value::Decimal(digits) => json!({"decimal": digits}),
        Value::Scalar(value) => scalar(*value),
        Value::Array(value) => array(*value),
        Value::Json(text) => serde_json::from_str(text).unwrap(),
        other => panic!("no expectation has {other:?}"),
    }
}

fn object(sample: &Sample<'_>) -> serde_json::Value {
    let columns = sample.columns().iter();
    columns.map(|column| (column.name().to_owned(), expected_form(&sample.column(column.name()).unwrap()))).collect()
}

fn check(name: &str) {
    let (index, dir) = open_fixture(name);
    let text = std::fs::read_to_string(dir.join("expected.jsonl")).unwrap();
    let mut expected = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    for info in index.shards() {
        let shard = Shard::open(&dir, info).unwrap();
        for sample in shard.iter() {
            assert_eq!(Some(object(&sample.unwrap())), expected.next(), "{name}");
        }
    }
    assert_eq!(expected.next(), None, "{name} has fewer samples than were written");
}

#[test]
fn all_mds_encodings() {
    check("mds_all_encodings");
}

#[test]
fn token_arrays() {
    check("mds_ndarray_tokens");
}

#[test]
fn images_are_handed_out_as_stored() {
    let (index, dir) = open_fixture("mds_images");
    let mut images = 0;
    for info in index.shards() {
        for sample in Shard::open(&dir, info).unwrap().iter() {
            let sample = sample.unwrap();
            let Value::Image(lockstep_dataset::value::Image::Pil(pil)) = sample.column("x").unwrap() else { panic!() };
            assert_eq!(pil.pixels.len() % (pil.width * pil.height) as usize, 0);
            assert!(sample.get::<&[u8]>("y").unwrap().starts_with(b"\x89PNG"));
            assert!(sample.get::<&[u8]>("z").unwrap().starts_with(b"\xff\xd8\xff"));
            images += 1;
        }
    }
    assert_eq!(images, index.num_samples());
}
