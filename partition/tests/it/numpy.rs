//! Vectors read off numpy.

use lockstep_partition::numpy::{Generator, SeedSequence};
use serde::Deserialize;
use serde_json::Value;

use crate::golden;

#[derive(Deserialize)]
struct Row {
    /// Some are above 64 bits.
    seed: u128,
    op: String,
    values: Vec<Value>,
}

#[test]
fn every_operation_draws_what_numpy_draws() {
    let rows: Vec<(usize, Row)> = golden::rows(include_str!("../golden/numpy_rng.jsonl"));
    assert!(rows.len() >= 60, "{} rows", rows.len());
    for (_, Row { seed, op, values }) in rows {
        let drawn = draw(&op, seed.into(), values.len());
        let expected: Vec<Drawn> = values.iter().map(parse).collect();
        assert_eq!(drawn, expected, "seed {seed}: {op}");
    }
}

/// A value drawn; doubles by their bits.
#[derive(Debug, PartialEq)]
enum Drawn {
    Integer(u64),
    Double(u64),
}

fn draw(op: &str, seed: SeedSequence, count: usize) -> Vec<Drawn> {
    let mut rng = Generator::new(seed);
    let integers = |rng: &mut Generator, range: std::ops::Range<i64>| {
        (0..count).map(|_| rng.integers(range.clone()).cast_unsigned()).collect::<Vec<_>>()
    };
    let numbers: Vec<u64> = match op {
        "u64" => (0..count).map(|_| rng.next_u64()).collect(),
        "permutation(17)" => rng.permutation(17),
        "shuffle(arange(17))" | "shuffle(list(range(17)))" => {
            let mut numbers: Vec<u64> = (0..17).collect();
            rng.shuffle(&mut numbers);
            numbers
        }
        "integers(3,1000)x8" => integers(&mut rng, 3..1000),
        "integers(0,196608,(8,))" => integers(&mut rng, 0..196_608),
        "choice(50,12,replace=False)" => rng.choice(50, 12),
        "choice(20000,5,replace=False)" => rng.choice(20_000, 5),
        "uniform(-2.5,7.25,8)" => {
            return (0..count).map(|_| Drawn::Double(rng.uniform(-2.5, 7.25).to_bits())).collect();
        }
        other => panic!("an operation without a test: {other}"),
    };
    numbers.into_iter().map(Drawn::Integer).collect()
}

fn parse(value: &Value) -> Drawn {
    match value {
        Value::String(literal) => Drawn::Double(hexadecimal(literal).to_bits()),
        number => Drawn::Integer(number.as_u64().expect("an unsigned integer")),
    }
}

/// Reads a double as Python's `float.hex` writes it.
fn hexadecimal(literal: &str) -> f64 {
    let (sign, digits) = literal.strip_prefix('-').map_or((1.0, literal), |digits| (-1.0, digits));
    let (mantissa, exponent) =
        digits.strip_prefix("0x").and_then(|rest| rest.split_once('p')).expect("a float literal");
    let (whole, fraction) = mantissa.split_once('.').expect("a point");
    let bits = u64::from_str_radix(&format!("{whole}{fraction:0<13}"), 16).expect("hexadecimal digits");
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let mantissa = bits as f64;
    sign * mantissa * (exponent.parse::<f64>().expect("an exponent") - 52.0).exp2()
}
