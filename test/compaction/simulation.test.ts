/**
 * Months of a store in seconds: the planners decide, and the simulation carries their plans out on facts alone. It
 * holds the policy to its promises: how often a byte is copied, how many objects there are, and how long small ones
 * stay.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { planJobs } from '../../src/compaction/plan.ts';
import { type CompactionSettings, compactionSettings } from '../../src/compaction/settings.ts';
import { outputsFor } from '../../src/compaction/sizes.ts';
import { bucketOf, classOf } from '../../src/compaction/stream-class.ts';
import type { ObjectFacts } from '../../src/compaction/view.ts';
import type { JobPlan } from '../../src/coordinator/job.ts';
import { GIB, MIB } from '../../src/limits/limits.ts';
import { STREAM_CONFIG_DEFAULT } from '../../src/record/stream-config.ts';
import { object, viewOf } from './facts.ts';
import { DAY, MINUTE, START } from './world.ts';

/** What the fleet writes: shares of all bytes, by how long they live. */
const MIX: readonly { readonly share: number; readonly maxAge: number | undefined }[] = [
  { share: 0.5, maxAge: DAY },
  { share: 0.4, maxAge: 7 * DAY },
  { share: 0.1, maxAge: undefined },
];

class Fleet {
  readonly settings: CompactionSettings;
  now = START;
  objects: ObjectFacts[] = [];
  written = 0;
  copied = 0;
  jobs = 0;
  oldestSmall = 0;

  constructor(settings: CompactionSettings) {
    this.settings = settings;
  }

  run(days: number, step: number, bytesPerStep: number): void {
    for (const end = this.now + days * DAY; this.now < end; this.now += step) {
      for (let bytes = bytesPerStep; bytes > 0; bytes -= 8 * MIB) this.#add(Math.min(8 * MIB, bytes), 0, 'mixed');
      this.written += bytesPerStep;
      this.#expire();
      const plans = planJobs({ view: viewOf(this.objects, this.now), settings: this.settings });
      for (const plan of plans) this.#carryOut(plan);
      const small = this.objects.filter(({ generation }) => generation === 0);
      this.oldestSmall = Math.max(this.oldestSmall, ...small.map(({ committedAt }) => this.now - committedAt));
    }
  }

  #add(bytes: number, generation: number, className: string): void {
    this.objects.push(object(0, { bytes, generation, className, committedAt: this.now }));
  }

  #expire(): void {
    const { expiryBucket } = this.settings;
    this.objects = this.objects.filter(({ className }) => {
      const bucket = bucketOf(className);
      return bucket === undefined || this.now < (bucket + 1) * expiryBucket;
    });
  }

  #carryOut({ kind, inputKeys }: JobPlan): void {
    this.jobs += 1;
    const keys = new Set(inputKeys);
    const inputs = this.objects.filter(({ key }) => keys.has(key));
    assert.equal(inputs.length, inputKeys.length, 'every input exists and is taken once');
    this.objects = this.objects.filter(({ key }) => !keys.has(key));
    const generation = Math.max(...inputs.map((input) => input.generation)) + (kind === 'merge' ? 1 : 0);
    const classes = new Map<string, number>();
    for (const { className, bytes } of inputs) {
      const parts = className === 'mixed' ? this.#split(bytes) : [[className, bytes] as const];
      for (const [name, part] of parts) classes.set(name, (classes.get(name) ?? 0) + part);
    }
    for (const [className, bytes] of classes) {
      const outputs = outputsFor(bytes, this.settings);
      for (let index = 0; index < outputs; index += 1) this.#add(Math.ceil(bytes / outputs), generation, className);
      this.copied += bytes;
    }
  }

  #split(bytes: number): (readonly [string, number])[] {
    return MIX.map(({ share, maxAge }) => {
      const retention = maxAge === undefined ? {} : { maxAge };
      const config = { ...STREAM_CONFIG_DEFAULT, retention };
      return [classOf(config, this.now, this.settings.expiryBucket), bytes * share] as const;
    });
  }
}

suite('months of a store', () => {
  test('that writes 2 GiB an hour copy each byte three times at most, into few objects', () => {
    const fleet = new Fleet(compactionSettings());
    fleet.run(20, 10 * MINUTE, (2 * GIB) / 6);
    const perByte = fleet.copied / fleet.written;
    assert.ok(perByte > 1 && perByte <= 3.2, `each byte was copied ${perByte.toFixed(2)} times`);
    const bytes = fleet.objects.reduce((sum, facts) => sum + facts.bytes, 0);
    assert.ok(
      fleet.objects.length < (2 * bytes) / (100 * MIB) + 100,
      `${fleet.objects.length} objects of ${bytes} bytes`,
    );
    assert.ok(fleet.oldestSmall <= 40 * MINUTE, `an object of appends was ${fleet.oldestSmall} ms old`);
  });

  test('that writes a few KiB an hour keep few objects too', () => {
    const fleet = new Fleet(compactionSettings());
    fleet.run(120, 15 * MINUTE, 16 * 1_024);
    // What is far below the target is merged on: a few times more, and into a tenth of the objects.
    assert.ok(fleet.copied / fleet.written <= 5);
    assert.ok(fleet.objects.length < 100, `${fleet.objects.length} objects`);
  });

  test('that nobody writes to need no jobs', () => {
    const fleet = new Fleet(compactionSettings());
    fleet.run(1, 5 * MINUTE, 8 * MIB);
    fleet.run(1, 5 * MINUTE, 0);
    const { jobs } = fleet;
    fleet.run(20, 5 * MINUTE, 0);
    assert.equal(fleet.jobs, jobs);
  });
});
