//! The lines of a script in memory: as few bytes each as their largest numbers need, so that millions of them are cheap.
//!
//! Each of the five numbers of a line has a column of its own, with 0, 1, 2, 4 or 8 bytes a line. A column gets wider when
//! a number comes that does not fit, which happens four times at most.

/// Lines that go into their columns together.
const AT_A_TIME: usize = 256;

/// One line of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When it is due, from the start; 0: when the one before is done.
    pub due_ns: u64,
    /// Where in the file, or the file index that a two-name operation goes to.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// File index in its set.
    pub file: u32,
    /// Position of its operation.
    pub op: u32,
}

/// All lines of a script, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    count: usize,
    op: Column,
    file: Column,
    offset: Column,
    size: Column,
    due_ns: Column,
}

impl Lines {
    /// How many.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether any line says when it is due.
    pub fn has_schedule(&self) -> bool {
        self.due_ns.width > 0
    }

    /// Add lines at the end, column by column.
    fn extend(&mut self, entries: &[Entry]) {
        let (before, entries) = (self.count, entries.iter());
        self.op.extend(before, entries.clone().map(|entry| u64::from(entry.op)));
        self.file.extend(before, entries.clone().map(|entry| u64::from(entry.file)));
        self.offset.extend(before, entries.clone().map(|entry| entry.offset));
        self.size.extend(before, entries.clone().map(|entry| entry.size));
        self.due_ns.extend(before, entries.clone().map(|entry| entry.due_ns));
        self.count += entries.len();
    }

    /// Line number `row` from 0.
    #[inline]
    pub fn get(&self, row: usize) -> Entry {
        Entry {
            due_ns: self.due_ns.get(row),
            offset: self.offset.get(row),
            size: self.size.get(row),
            file: self.file.get(row) as u32,
            op: self.op.get(row) as u32,
        }
    }

    /// Memory that the lines take.
    pub fn bytes(&self) -> usize {
        [&self.op, &self.file, &self.offset, &self.size, &self.due_ns].iter().map(|column| column.bytes.len()).sum()
    }
}

/// Lines as they come. They go into their columns many at a time: one at a time, each would ask each column for its width.
#[derive(Debug, Default)]
pub struct LinesBuilder {
    lines: Lines,
    /// The latest; not in columns yet.
    fresh: Vec<Entry>,
}

impl LinesBuilder {
    /// Add a line at the end.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        if self.fresh.len() == AT_A_TIME {
            self.put_away();
        }
        self.fresh.push(entry);
    }

    /// All that were pushed.
    pub fn finish(mut self) -> Lines {
        self.put_away();
        self.lines
    }

    #[inline(never)]
    fn put_away(&mut self) {
        self.lines.extend(&self.fresh);
        self.fresh.clear();
    }
}

/// One number of each line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Column {
    /// Bytes of a number; 0: all are 0.
    width: usize,
    bytes: Vec<u8>,
}

impl Column {
    fn extend(&mut self, rows: usize, values: impl ExactSizeIterator<Item = u64> + Clone) {
        // All of them together have the highest bit of the largest.
        let needed = width_of(values.clone().fold(0, |bits, value| bits | value));
        if needed > self.width {
            self.widen(rows, needed);
        }
        match self.width {
            0 => {}
            1 => self.bytes.extend(values.map(|value| value as u8)),
            2 => self.bytes.extend(values.flat_map(|value| (value as u16).to_le_bytes())),
            4 => self.bytes.extend(values.flat_map(|value| (value as u32).to_le_bytes())),
            _ => self.bytes.extend(values.flat_map(u64::to_le_bytes)),
        }
    }

    #[cold]
    fn widen(&mut self, rows: usize, width: usize) {
        let mut wider = Vec::with_capacity((rows + AT_A_TIME) * width);
        for row in 0..rows {
            wider.extend_from_slice(&self.get(row).to_le_bytes()[..width]);
        }
        *self = Self { width, bytes: wider };
    }

    #[inline]
    fn get(&self, row: usize) -> u64 {
        match self.width {
            0 => 0,
            1 => u64::from(self.bytes[row]),
            2 => u64::from(u16::from_le_bytes(self.at(row))),
            4 => u64::from(u32::from_le_bytes(self.at(row))),
            _ => u64::from_le_bytes(self.at(row)),
        }
    }

    #[inline]
    fn at<const WIDTH: usize>(&self, row: usize) -> [u8; WIDTH] {
        *self.bytes[row * WIDTH..].first_chunk().expect("a column holds every row")
    }
}

fn width_of(value: u64) -> usize {
    match value {
        0 => 0,
        1..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of every width.
    fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0_u32..64).prop_map(|(value, shift)| value >> shift)
    }

    fn lines_of(entries: impl Iterator<Item = Entry>) -> Lines {
        let mut builder = LinesBuilder::default();
        entries.for_each(|entry| builder.push(entry));
        builder.finish()
    }

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        let entry = (number(), number(), number(), any::<u32>(), 0_u32..9);
        let entry = entry.prop_map(|(due_ns, offset, size, file, op)| Entry { due_ns, offset, size, file, op });
        proptest::collection::vec(entry, 0..3 * AT_A_TIME)
    }

    proptest! {
        #[test]
        fn every_line_comes_back_as_it_was_given(entries in entries()) {
            let lines = lines_of(entries.iter().copied());

            let back: Vec<Entry> = (0..lines.len()).map(|row| lines.get(row)).collect();

            prop_assert_eq!(lines.has_schedule(), entries.iter().any(|entry| entry.due_ns > 0));
            prop_assert_eq!(back, entries);
        }
    }

    #[test]
    fn a_line_without_offset_and_time_takes_a_few_bytes() {
        let lines = lines_of((0..100_000).map(|file| Entry { due_ns: 0, offset: 0, size: 9999, file, op: 3 }));

        assert_eq!(lines.bytes(), 100_000 * (1 + 4 + 2));
    }
}
