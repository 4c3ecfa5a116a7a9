//! Several traces as one, in the order of their times.

use super::TraceError;
use super::readers::{Epoch, OpenTrace, TraceFormat};
use super::request::{Devices, TraceRequest};

/// A trace with what has come of it.
struct Coming {
    name: String,
    trace: OpenTrace,
    batch: Vec<TraceRequest>,
    next: usize,
    is_at_end: bool,
}

impl Coming {
    /// The next request.
    fn front(&mut self, devices: &mut Devices) -> Result<Option<TraceRequest>, TraceError> {
        while self.next == self.batch.len() && !self.is_at_end {
            self.refill(devices)?;
        }
        Ok(self.batch.get(self.next).copied())
    }

    fn refill(&mut self, devices: &mut Devices) -> Result<(), TraceError> {
        self.batch.clear();
        self.next = 0;
        let more = self.trace.reader.fill(&mut self.batch, devices).map_err(|error| error.of(&self.name))?;
        self.is_at_end = !more;
        Ok(())
    }
}

/// The traces; requests at one time are in the order of the traces.
pub struct Merged {
    coming: Vec<Coming>,
    devices: Devices,
}

impl Merged {
    /// Nothing is read yet.
    ///
    /// # Errors
    ///
    /// Traces that do not go together: some with objects and others with places, or times that begin differently.
    pub fn new(traces: Vec<(String, OpenTrace)>) -> Result<Self, TraceError> {
        let is_of_objects = |trace: &OpenTrace| trace.format == TraceFormat::OracleGeneral;
        let objects = traces.iter().filter(|(_, trace)| is_of_objects(trace)).count();
        if objects > 0 && objects < traces.len() {
            return Err(TraceError::Input("traces of objects (oracle-general) do not go with those of devices".into()));
        }
        let unix = traces.iter().filter(|(_, trace)| trace.reader.epoch() == Epoch::Unix).count();
        if unix > 0 && unix < traces.len() {
            return Err(TraceError::Input("some of the traces have times since 1970, and others do not".into()));
        }
        let coming = traces
            .into_iter()
            .map(|(name, trace)| Coming { name, trace, batch: Vec::new(), next: 0, is_at_end: false })
            .collect();
        Ok(Self { coming, devices: Devices::default() })
    }

    /// Replace a batch by the next requests, none at the end.
    ///
    /// # Errors
    ///
    /// A trace cannot be read, or is not of its format.
    pub fn fill(&mut self, batch: &mut Vec<TraceRequest>) -> Result<(), TraceError> {
        batch.clear();
        if let [only] = &mut self.coming[..] {
            while batch.is_empty() && !only.is_at_end {
                only.refill(&mut self.devices)?;
                std::mem::swap(batch, &mut only.batch);
            }
            return Ok(());
        }
        while batch.len() < super::readers::BATCH {
            let mut first: Option<(u64, usize)> = None;
            for (place, coming) in self.coming.iter_mut().enumerate() {
                if let Some(request) = coming.front(&mut self.devices)? {
                    first = first.filter(|&(time, _)| time <= request.time_ns).or(Some((request.time_ns, place)));
                }
            }
            let Some((_, place)) = first else { break };
            let coming = &mut self.coming[place];
            batch.push(coming.batch[coming.next]);
            coming.next += 1;
        }
        Ok(())
    }

    /// Bytes read of all traces.
    pub fn bytes(&self) -> u64 {
        self.coming.iter().map(|coming| coming.trace.reader.bytes()).sum()
    }

    /// Whether keys are objects.
    pub fn is_of_objects(&self) -> bool {
        self.coming.iter().any(|coming| coming.trace.format == TraceFormat::OracleGeneral)
    }

    /// What the times mean, of all traces.
    pub fn epoch(&self) -> Epoch {
        let mut epochs = self.coming.iter().map(|coming| coming.trace.reader.epoch());
        epochs.find(|&epoch| epoch != Epoch::None).unwrap_or(Epoch::None)
    }

    /// The format of each trace.
    pub fn formats(&self) -> impl Iterator<Item = (&str, TraceFormat)> {
        self.coming.iter().map(|coming| (&coming.name[..], coming.trace.format))
    }

    /// What was left out, with the name of the trace where there are several.
    pub fn notes(&self) -> Vec<String> {
        let is_one = self.coming.len() == 1;
        let named = |coming: &Coming, note: String| if is_one { note } else { format!("{}: {note}", coming.name) };
        self.coming
            .iter()
            .flat_map(|coming| coming.trace.reader.notes().into_iter().map(|note| named(coming, note)))
            .collect()
    }

    /// The devices named so far.
    pub fn devices(&self) -> &Devices {
        &self.devices
    }
}
