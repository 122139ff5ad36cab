import { beforeEach, describe, expect, it } from 'vitest';
import type { Driver, HostChange } from '#agent/drivers/contract/driver.ts';
import { setUp } from '#agent/process/set-up.ts';
import { aLog } from '#test/support/hosts/agent.ts';

const card = '0000:3b:00.0';

/** Parts of the host that were changed. */
let done: string[];
let log: ReturnType<typeof aLog>;
beforeEach(() => {
  done = [];
  log = aLog();
});

function aChange(what: string, apply = async () => void done.push(what)): HostChange {
  return { address: card, what, before: 'off', after: 'on', apply };
}

function aDriver(plan: () => readonly HostChange[]): Driver {
  return { name: 'one', discover: async () => ({ devices: {} }), plan: async () => plan() };
}

const sentence = (what: string) => `The ${what} of ${card} is off, not on`;
const fields = (what: string) => ({ address: card, what, before: 'off', after: 'on' });

describe('set-up', () => {
  it('applies a change that another one has made possible, and logs each', async () => {
    const parts = ['a', 'b', 'c'];
    const driver = aDriver(() =>
      parts.slice(done.length, done.length + 1).map((each) => aChange(each)),
    );
    expect(await setUp(driver, log)).toEqual({ applied: parts.map(fields), left: [] });
    expect(log.lines).toEqual(
      parts.map((what) => ({ message: 'Host changed', driver: 'one', ...fields(what) })),
    );
  });

  it('asks for a bounded number of plans', async () => {
    let count = 0;
    const driver = aDriver(() => {
      count += 1;
      return [aChange(`part ${count}`)];
    });
    const { applied, left } = await setUp(driver, log);
    expect(count).toBe(4);
    expect(applied).toHaveLength(3);
    expect(left).toEqual([`${sentence('part 4')}: it waits for the next set-up.`]);
  });

  it('tries a change that fails once, and goes on with the others', async () => {
    let tries = 0;
    const bad = aChange('bad', async () => {
      tries += 1;
      throw new Error('EBUSY: it is busy');
    });
    const driver = aDriver(() => [bad, ...(done.length === 0 ? [aChange('good')] : [])]);
    const { applied, left } = await setUp(driver, log);
    expect(applied).toEqual([fields('good')]);
    expect(left).toEqual([`${sentence('bad')}: EBUSY: it is busy.`]);
    expect(tries).toBe(1);
  });

  it('leaves a change that is refused, with the reason', async () => {
    const refusal = `${card} is offered to guests`;
    const driver = aDriver(() => [{ ...fields('part'), refusal }]);
    expect(await setUp(driver, log)).toEqual({
      applied: [],
      left: [`${sentence('part')}: ${refusal}.`],
    });
    expect(log.lines).toEqual([]);
  });

  it('leaves a change that has no effect', async () => {
    const { left } = await setUp(
      aDriver(() => [aChange('part')]),
      log,
    );
    expect(left).toEqual([`${sentence('part')}: the change was applied without an effect.`]);
    expect(done).toEqual(['part']);
  });

  it('logs a change that failed and is no longer needed', async () => {
    let plans = 0;
    const driver = aDriver(() => {
      plans += 1;
      return plans > 1 ? [] : [aChange('part', () => Promise.reject(new Error('it is gone')))];
    });
    expect(await setUp(driver, log)).toEqual({ applied: [], left: [] });
    const failed = { ...fields('part'), driver: 'one', reason: 'it is gone' };
    expect(log.lines).toEqual([{ message: 'Host change failed', ...failed }]);
  });

  it.each<[string, Driver['plan']]>([
    ['rejects', () => Promise.reject(new Error('sysfs is not mounted.'))],
    [
      'throws',
      () => {
        throw new Error('sysfs is not mounted.');
      },
    ],
  ])('names the driver whose plan %s', async (_how, plan) => {
    const driver: Driver = { ...aDriver(() => []), ...(plan && { plan }) };
    const { left } = await setUp(driver, log);
    expect(left).toEqual(['The driver one cannot plan: sysfs is not mounted.']);
  });

  it('of a driver without a plan changes nothing', async () => {
    const driver: Driver = { name: 'one', discover: async () => ({ devices: {} }) };
    expect(await setUp(driver, log)).toEqual({ applied: [], left: [] });
  });
});
