import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { markdown } from '#infra/cost/print-bill.ts';
import { createRandom } from '#simulation/random.ts';
import { live } from '#simulation/scale/cloud.ts';
import { launches, launchHead, launchRow } from '#simulation/scale/launches/scenarios.ts';
import { bindHead, bindRow, binds, bootHead, bootRow, boots } from '#simulation/scale/scenarios.ts';
import { Quota, Timeline } from '#simulation/scale/timeline.ts';

describe('virtual time', () => {
  it('runs tasks in the order of their times', () => {
    const timeline = new Timeline();
    const done: string[] = [];
    const random = createRandom(1);
    for (let each = 0; each < 500; each++) {
      timeline.after(random.between(0, 49), () => done.push(`${timeline.now}`.padStart(3)));
    }
    timeline.run(100);
    expect(done).toHaveLength(500);
    expect(done).toEqual(done.toSorted());
  });

  it("grants a quota's burst, then its rate", () => {
    const timeline = new Timeline();
    const quota = new Quota(timeline, 10);
    const taken = () => Array.from({ length: 100 }, () => quota.take()).filter(Boolean).length;
    expect(taken()).toBe(10);
    timeline.run(0.5);
    expect(taken()).toBe(5);
    expect(quota.refused).toBe(185);
  });
});

describe('a cloud at its limits', () => {
  const few = { seconds: 60, lifeSeconds: 30 };

  it('resolves every bind, and loses no message', () => {
    for (const vgpusPerSecond of [4, 40]) {
      const { vgpu, counts, dead } = live({ ...few, vgpusPerSecond });
      expect(vgpu.length + counts.failed).toBe(counts.asked);
      expect(dead).toBe(0);
    }
  });

  it('has every host reprovisioned after a reboot of all hosts', () => {
    const load = { seconds: 1, bootingHosts: 300, instancesPerHost: 2 };
    const { reported, jobMade, boundAgain, dead } = live(load);
    expect([reported, jobMade, boundAgain].map(({ length }) => length)).toEqual([300, 300, 300]);
    expect(dead).toBe(0);
  });

  it('has binds finished while all hosts reboot', () => {
    const { vgpu, counts } = live({
      seconds: 600,
      vgpusPerSecond: 4,
      bootingHosts: 10_000,
      instancesPerHost: 10,
    });
    expect(counts.failed).toBeLessThan(counts.asked / 20);
    expect(vgpu.length + counts.failed).toBe(counts.asked);
  });

  it('has the same result each time', () => {
    const load = { ...few, vgpusPerSecond: 8, bootingHosts: 50, instancesPerHost: 1 };
    expect(live(load)).toEqual(live(load));
  });
});

describe('simulation/scale/README.md', { tags: ['long'] }, () => {
  const document = readFileSync(
    new URL('../../simulation/scale/README.md', import.meta.url),
    'utf8',
  );
  const rowsOf = <Row>(
    all: Readonly<Record<string, Row>>,
    row: (name: string, one: Row) => string[],
  ) => Object.entries(all).map(([name, one]) => row(name, one));

  it('has the results of launches', () => {
    expect(document).toContain(markdown(launchHead, rowsOf(launches, launchRow)));
  });

  it('has the results of binds', () => {
    expect(document).toContain(markdown(bindHead, rowsOf(binds, bindRow)));
  });

  it('has the results of a reboot of all hosts', () => {
    expect(document).toContain(markdown(bootHead, rowsOf(boots, bootRow)));
  });
});
