/** A check that cannot fail is none: each invariant is broken once. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { apply } from '../../src/coordinator/state/apply.ts';
import type { StateEvent } from '../../src/coordinator/state/event.ts';
import { violations } from '../../src/coordinator/state/invariants.ts';
import { RUN } from '../../src/coordinator/state/run-table.ts';
import { State } from '../../src/coordinator/state/state.ts';
import { PLAIN, sampleRun } from '../../src/testing/coordinator/samples.ts';

const HISTORY: readonly StateEvent[] = [
  { type: 'streamCreated', streamId: 1, name: 'a', config: PLAIN },
  { type: 'streamCreated', streamId: 2, name: 'b', config: PLAIN },
  { type: 'objectsReserved', firstNumber: 1, count: 3, nonce: 0, deadline: 100 },
  committed(1, [sampleRun(1, 0, 5), sampleRun(2, 0, 5, { byteOffset: 100 })]),
  committed(2, [sampleRun(1, 5, 5), sampleRun(1, 10, 5, { byteOffset: 100 })]),
  {
    type: 'jobClaimed',
    jobId: 1,
    token: 't',
    kind: 'merge',
    worker: 'w',
    leaseUntil: 50,
    inputs: [1],
  },
];

function committed(objectNumber: number, runs: readonly ReturnType<typeof sampleRun>[]): StateEvent {
  const facts = { bytes: 200, checksum: '0000000000000000', generation: 0, relative: false };
  return { type: 'objectCommitted', objectNumber, ...facts, truncations: [], runs, refused: [], wal: undefined };
}

function sound(): State {
  const state = new State();
  for (const event of HISTORY) apply(state, event);
  return state;
}

const faults: [string, RegExp, (state: State, row: number) => void][] = [
  ['a gap between two runs', /starts at 6 instead of 5/, (state, row) => state.runs.set(row, RUN.firstOffset, 6)],
  ['a watermark that ran ahead', /runs end at 15/, (state) => (state.stream(1).nextOffset = 16)],
  ['a log start above the watermark', /log start is above/, (state) => (state.stream(2).firstOffset = 6)],
  ['a log start below the first run', /starts at 0 instead of -1/, (state) => (state.stream(2).firstOffset = -1)],
  ['a run listed twice', /listed twice/, (state, row) => state.stream(1).runs.push(row)],
  ['a run missing from its stream', /is in no stream/, (state) => state.stream(2).runs.pop()],
  ['a run of another stream', /is of another stream/, (state, row) => state.runs.set(row, RUN.streamId, 2)],
  ['a run that ends before it starts', /ends at 4/, (state, row) => state.runs.set(row, RUN.endOffset, 4)],
  ['records counted wrongly', /records is counted as 99/, (state) => (state.stream(1).records = 99)],
  ['held runs counted wrongly', /heldRuns is counted as 1/, (state) => (state.stream(1).heldRuns = 1)],
  ['publishers counted wrongly', /publisherCount is counted as 1/, (state) => (state.stream(1).publisherCount = 1)],
  ['a run in the wrong object', /lists a run of another/, (state, row) => state.runs.set(row, RUN.objectNumber, 1)],
  ['a broken link', /not linked both ways/, (state, row) => state.runs.set(row, RUN.previousInObject, row)],
  ['live bytes counted wrongly', /liveBytes is counted as 7/, (state) => (state.object(2).liveBytes = 7)],
  ['a live object marked deleting', /is deleting with 200/, (state) => (state.object(2).state = 'deleting')],
  ['a run beyond its object', /beyond its end/, (state) => (state.object(2).bytes = 150)],
  ['two runs on one place', /two runs overlap at 100/, (state, row) => state.runs.set(row, RUN.byteOffset, 50)],
  ['an object in no set', /2 objects are listed by state/, (state) => state.byState.committed.delete(state.object(2))],
  ['a total that is off', /committedBytes is counted as 1/, (state) => (state.committedBytes = 1)],
  ['a claim that nobody holds', /names job 9/, (state) => (state.object(2).jobId = 9)],
  ['a claim that is forgotten', /is held by 1/, (state) => (state.object(1).jobId = undefined)],
  ['a name that leads elsewhere', /its name leads elsewhere/, (state) => state.streamsByName.delete('a')],
];

suite('invariants', () => {
  test('a sound state violates none', () => assert.deepEqual(violations(sound()), []));

  for (const [what, expected, damage] of faults) {
    test(`notices ${what}`, () => {
      const state = sound();
      damage(state, state.stream(1).runs.at(1));
      assert.match(violations(state).join('\n'), expected);
    });
  }

  test('what an event may not do is an assertion, and never a wrong state', () => {
    const bad: readonly StateEvent[] = [
      { type: 'streamCreated', streamId: 5, name: 'c', config: PLAIN },
      { type: 'streamCreated', streamId: 3, name: 'a', config: PLAIN },
      { type: 'streamTrimmed', streamId: 1, firstOffset: 16 },
      { type: 'streamTruncated', streamId: 1, nextOffset: 3, epoch: 0 },
      { type: 'objectsReserved', firstNumber: 1, count: 1, nonce: 0, deadline: 1 },
      committed(1, [sampleRun(1, 15, 1)]),
      committed(3, [sampleRun(1, 16, 1)]),
      committed(3, [sampleRun(9, 0, 1)]),
      {
        type: 'publishersMarked',
        streamId: 1,
        marks: [{ reference: 'p', publishingId: 1, offset: 15 }],
        forgotten: [],
      },
      { type: 'publishersMarked', streamId: 1, marks: [], forgotten: ['p'] },
      { type: 'objectsAbandoned', objectNumbers: [1] },
      { type: 'objectsGone', objectNumbers: [1] },
      { type: 'jobEnded', jobId: 2 },
      { type: 'jobCommitted', jobId: 1, outputs: [], dropped: [] },
      { type: 'tombstonesForgotten', objectNumbers: [1], jobIds: [] },
    ];
    for (const event of bad) assert.throws(() => apply(sound(), event), { name: 'AssertionError' }, event.type);
  });
});
