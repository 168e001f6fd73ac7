//! Datasets that the original wrote decode to what was written.

use lockstep_dataset::value::{Image, Value};
use lockstep_dataset::{Index, Pickled, Shard};

use crate::support::{fixture, open_fixture};

/// All fixtures by name.
fn names() -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(fixture("")).unwrap().map(|entry| entry.unwrap()).collect();
    names.retain(|entry| entry.path().is_dir());
    names.into_iter().map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn every_fixture_decodes_to_what_was_written() {
    let mut seen = 0;
    for name in names() {
        let (index, dir) = open_fixture(&name);
        let Ok(text) = std::fs::read_to_string(dir.join("expected.jsonl")) else { continue };
        let mut expected = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        for info in index.shards() {
            let shard = Shard::open(&dir, info).unwrap();
            for sample in shard.iter() {
                let mut line = Vec::new();
                sample.unwrap().write_json(&mut line, Pickled::Refuse).unwrap();
                let value = serde_json::from_slice::<serde_json::Value>(&line).unwrap();
                assert_eq!(Some(value), expected.next(), "{name}");
            }
        }
        assert_eq!(expected.next(), None, "{name} has fewer samples than were written");
        seen += 1;
    }
    assert!(seen >= 30, "only {seen} fixtures are here");
}

#[test]
fn integers_keep_all_their_digits() {
    let (index, dir) = open_fixture("mds_all_encodings");
    let shard = Shard::open(&dir, &index.shards()[0]).unwrap();
    assert_eq!(shard.sample(0).unwrap().get::<i128>("g_strint").unwrap(), -930960203070015969080881426128);
    let text = std::fs::read_to_string(dir.join("expected.jsonl")).unwrap();
    let (_, digits) = text.split_once(r#""g_strint": "#).unwrap();
    let mut line = Vec::new();
    shard.sample(0).unwrap().write_json(&mut line, Pickled::Refuse).unwrap();
    let digits = &digits[..digits.find(',').unwrap()];
    assert!(String::from_utf8(line).unwrap().contains(&format!(r#""g_strint": {digits},"#)));
}

#[test]
fn every_stored_file_has_its_size_and_hashes() {
    let mut hashes = std::collections::BTreeSet::new();
    for name in names() {
        let (index, dir) = open_fixture(&name);
        for (info, pair) in index.shards().iter().flat_map(|info| info.files().map(move |pair| (info, pair))) {
            let stored = std::fs::read(dir.join(pair.stored().basename())).unwrap();
            pair.stored().check(&stored).unwrap();
            if let Some(compression) = info.compression() {
                pair.raw.check(&compression.decompress(&stored, pair.raw).unwrap()).unwrap();
            }
            hashes.extend(pair.stored().hashes().iter().map(|hash| hash.algorithm.name()));
        }
    }
    assert_eq!(hashes.len(), 16, "{hashes:?}");
}

#[test]
fn images_are_handed_out_as_stored() {
    let (index, dir) = open_fixture("mds_images");
    let mut images = 0;
    for info in index.shards() {
        for sample in Shard::open(&dir, info).unwrap().iter() {
            let sample = sample.unwrap();
            let Value::Image(Image::Pil(pil)) = sample.column("x").unwrap() else { panic!() };
            assert_eq!(pil.pixels.len() % (pil.width * pil.height) as usize, 0);
            assert!(sample.get::<&[u8]>("y").unwrap().starts_with(b"\x89PNG"));
            assert!(sample.get::<&[u8]>("z").unwrap().starts_with(b"\xff\xd8\xff"));
            #[cfg(feature = "image")]
            {
                let decode = |name: &str| match sample.column(name).unwrap() {
                    Value::Image(image) => image.pixels().unwrap().into_rgb8(),
                    other => panic!("{other:?} is no image"),
                };
                assert_eq!(decode("x").dimensions(), decode("z").dimensions());
                assert_eq!(decode("x").dimensions(), (pil.width, pil.height));
            }
            images += 1;
        }
    }
    assert_eq!(images, index.num_samples());
}

#[test]
fn samples_become_structs() {
    #[derive(Debug, serde::Deserialize, PartialEq)]
    struct Line<'a> {
        id: u32,
        score: f64,
        #[serde(borrow)]
        text: std::borrow::Cow<'a, str>,
        absent: Option<u8>,
    }

    let expected = Line { id: 1, score: 1.0 / 3.0, text: "naïve \"q\"".into(), absent: None };
    let read = |name: &str| {
        let (index, dir) = open_fixture(name);
        (Index::read(&dir).unwrap(), Shard::open(&dir, &index.shards()[0]).unwrap())
    };
    let (_, json) = read("jsonl");
    assert_eq!(json.sample(1).unwrap().deserialize::<Line<'_>>().unwrap(), expected);
    let (_, csv) = read("csv");
    let line: Line<'_> = csv.sample(1).unwrap().deserialize().unwrap();
    assert_eq!(line, Line { text: "w1 w1".into(), ..expected });
    assert!(matches!(line.text, std::borrow::Cow::Borrowed(_)));

    #[derive(serde::Deserialize)]
    struct Row<'a> {
        a_bytes: &'a [u8],
        b_str: &'a str,
        f_f16: f32,
        g_strint: i128,
        h_nd_f32_23: [[f32; 3]; 2],
        h_nd_i32: Vec<i32>,
        i_json: std::collections::HashMap<String, serde_json::Value>,
    }
    let (_, mds) = read("mds_all_encodings");
    let sample = mds.sample(0).unwrap();
    let row: Row<'_> = sample.deserialize().unwrap();
    assert_eq!((row.a_bytes.len(), row.b_str, row.g_strint), (19, "delta alpha", -930960203070015969080881426128));
    assert_eq!((row.h_nd_i32.len(), row.h_nd_i32[0], row.i_json["k"].as_i64()), (149, -7, Some(0)));
    assert_eq!(row.f_f16, sample.get::<f32>("f_f16").unwrap());
    assert_eq!(row.h_nd_f32_23[0][0].to_le_bytes(), [0x80, 0x9e, 0xd7, 0x3e]);

    #[derive(Debug, serde::Deserialize)]
    struct Wrong {
        #[expect(dead_code, reason = "its type is the point")]
        b_str: u8,
    }
    let error = sample.deserialize::<Wrong>().unwrap_err();
    assert!(error.is_config() && error.to_string().contains("column `b_str`: invalid type: string"), "{error}");
}
