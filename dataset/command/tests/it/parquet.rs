//! `write` on Parquet files with nested, missing and foreign values.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

use crate::support::{Ended, Result, finish, lockstep};

const SCHEMA: &str = "message sample {
    optional binary name (STRING);
    required binary blob;
    required int32 small (INTEGER(8, false));
    required int64 big (INTEGER(64, false));
    required group tokens (LIST) { repeated group list { required int32 element; } }
    optional group weights (MAP) { repeated group key_value {
        required binary key (STRING);
        optional double value;
    } }
    required group place { required float x; optional binary label (STRING); }
    required int32 day (DATE);
}";

type RowGroup<'a> = SerializedRowGroupWriter<'a, File>;

/// Writes the next column from its values and its levels of definition and repetition.
fn column<T: DataType>(rows: &mut RowGroup<'_>, values: &[T::T], def: Option<&[i16]>, rep: Option<&[i16]>) -> Result {
    let mut column = rows.next_column()?.ok_or("the schema has no more columns")?;
    column.typed::<T>().write_batch(values, def, rep)?;
    Ok(column.close()?)
}

/// Three samples:
///
/// | name   | tokens   | weights              | place           |
/// | ------ | -------- | -------------------- | --------------- |
/// | (none) | [1, 2]   | {a: 0.5, b: (none)}  | 1.5, (none)     |
/// | "two"  | []       | (none)               | 2.5, "here"     |
/// | ""     | [40000]  | {}                   | `last_x`, ""    |
fn write_table(path: &Path, last_x: f32) -> Result {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut file =
        SerializedFileWriter::new(File::create(path)?, schema, Arc::new(WriterProperties::builder().build()))?;
    let mut rows = file.next_row_group()?;
    let text = |texts: &[&str]| texts.iter().map(|&text| ByteArray::from(text)).collect::<Vec<_>>();
    column::<ByteArrayType>(&mut rows, &text(&["two", ""]), Some(&[0, 1, 1]), None)?;
    let blobs: [ByteArray; 3] = [vec![0, 255].into(), vec![].into(), vec![7].into()];
    column::<ByteArrayType>(&mut rows, &blobs, None, None)?;
    column::<Int32Type>(&mut rows, &[0, 127, 255], None, None)?;
    column::<Int64Type>(&mut rows, &[0, 1, -1], None, None)?;
    column::<Int32Type>(&mut rows, &[1, 2, 40_000], Some(&[1, 1, 0, 1]), Some(&[0, 1, 0, 0]))?;
    column::<ByteArrayType>(&mut rows, &text(&["a", "b"]), Some(&[2, 2, 0, 1]), Some(&[0, 1, 0, 0]))?;
    column::<DoubleType>(&mut rows, &[0.5], Some(&[3, 2, 0, 1]), Some(&[0, 1, 0, 0]))?;
    column::<FloatType>(&mut rows, &[1.5, 2.5, last_x], None, None)?;
    column::<ByteArrayType>(&mut rows, &text(&["here", ""]), Some(&[0, 1, 1]), None)?;
    column::<Int32Type>(&mut rows, &[0, 1, 20_000], None, None)?;
    rows.close()?;
    file.close()?;
    Ok(())
}

/// `lockstep write` of these columns, in a directory that holds `samples.parquet`.
fn write(dir: &Path, columns: &[&str]) -> Result<Ended> {
    let mut command = lockstep();
    command.args(["write", "--replace"]).arg(dir.join("dataset")).arg(dir.join("samples.parquet"));
    for column in columns {
        command.args(["--column", column]);
    }
    finish(&mut command)
}

fn samples(dir: &Path) -> Result<Vec<Value>> {
    let ended = finish(lockstep().arg("cat").arg(dir.join("dataset")))?;
    assert_eq!(ended.code(), Some(0), "{}", ended.err);
    Ok(ended.out.lines().map(serde_json::from_str).collect::<serde_json::Result<_>>()?)
}

#[test]
fn nested_and_missing_values_are_json() -> Result {
    let dir = tempfile::tempdir()?;
    write_table(&dir.path().join("samples.parquet"), 3.5)?;
    let columns = ["name=json", "tokens=json", "weights=json", "place=json"];
    let ended = write(dir.path(), &columns)?;
    assert_eq!((ended.code(), ended.err.as_str()), (Some(0), ""));
    assert_eq!(
        samples(dir.path())?,
        [
            json!({"name": null, "tokens": [1, 2], "weights": {"a": 0.5, "b": null}, "place": {"x": 1.5, "label": null}}),
            json!({"name": "two", "tokens": [], "weights": null, "place": {"x": 2.5, "label": "here"}}),
            json!({"name": "", "tokens": [40_000], "weights": {}, "place": {"x": 3.5, "label": ""}}),
        ]
    );
    Ok(())
}

#[test]
fn numbers_and_bytes_take_the_encoding_that_is_asked() -> Result {
    let dir = tempfile::tempdir()?;
    write_table(&dir.path().join("samples.parquet"), 3.5)?;
    let ended = write(dir.path(), &["blob=bytes", "small=uint8", "big=uint64"])?;
    assert_eq!((ended.code(), ended.err.as_str()), (Some(0), ""));
    let samples = samples(dir.path())?;
    let hex = |name: &str| samples.iter().map(|sample| sample[name]["hex"].clone()).collect::<Vec<_>>();
    assert_eq!(hex("blob"), ["00ff", "", "07"]);
    assert_eq!(hex("small"), ["00", "7f", "ff"]);
    assert_eq!(hex("big"), ["0000000000000000", "0100000000000000", "ffffffffffffffff"]);
    Ok(())
}

#[test]
fn what_has_no_encoding_is_refused_by_place_and_name() -> Result {
    let dir = tempfile::tempdir()?;
    write_table(&dir.path().join("samples.parquet"), f32::NAN)?;
    for (columns, text) in [
        (&[][..], "row 0: column `day`: values such as 1970-01-01 "),
        (&["name=str"], "row 0: column `name`: null is no value of encoding str; write the column as json"),
        (&["place=json"], "row 2, column `place`: JSON has no number NaN"),
        (&["blob=json"], "row 0: column `blob`: bytes that are not text are no JSON"),
        (&["tokens=ndarray:uint16"], "row 1: column `tokens`: an array must have 1 to 63 axes and no empty one"),
    ] {
        let ended = write(dir.path(), columns)?;
        assert_ne!(ended.code(), Some(0), "{columns:?}");
        let causes = ended.err.replace("\n  because: ", ": ");
        assert!(causes.contains(text), "{columns:?}: {causes}");
        assert!(!dir.path().join("dataset/index.json").exists());
    }
    Ok(())
}

#[test]
fn guessed_encodings_follow_the_types_of_the_columns() -> Result {
    let dir = tempfile::tempdir()?;
    let schema = parse_message_type(
        "message m {
            optional binary s (STRING);
            required float f;
            required group tokens (LIST) { repeated group list { required int32 element; } }
        }",
    )?;
    let path = dir.path().join("samples.parquet");
    let mut file = SerializedFileWriter::new(File::create(path)?, Arc::new(schema), Arc::default())?;
    let mut rows = file.next_row_group()?;
    column::<ByteArrayType>(&mut rows, &[ByteArray::from("\"quoted\"")], Some(&[0, 1]), None)?;
    column::<FloatType>(&mut rows, &[0.25, f32::INFINITY], None, None)?;
    column::<Int32Type>(&mut rows, &[1, 2, 40_000], Some(&[1, 1, 1]), Some(&[0, 1, 0]))?;
    rows.close()?;
    file.close()?;
    let ended = write(dir.path(), &[])?;
    assert_eq!((ended.code(), ended.err.as_str()), (Some(0), ""));
    let guessed = samples(dir.path())?;
    assert_eq!((&guessed[0]["s"], &guessed[1]["s"]), (&Value::Null, &json!("\"quoted\"")));
    assert_eq!(guessed[1]["f"]["hex"], "0000807f");
    assert_eq!(guessed[0]["tokens"], json!([1, 2]));

    let ended = write(dir.path(), &["tokens=ndarray:uint16"])?;
    assert_eq!((ended.code(), ended.err.as_str()), (Some(0), ""));
    assert_eq!(samples(dir.path())?[1]["tokens"]["hex"], "409c");
    Ok(())
}
