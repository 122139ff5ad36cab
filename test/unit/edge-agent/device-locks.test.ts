import { expect, it } from 'vitest';
import { createDeviceLocks } from '#agent/device-locks.ts';

/** Work that ends when the test says so, and records its start. */
function aWork(begun: string[], name: string) {
  let end = () => {};
  const work = () => {
    begun.push(name);
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  };
  return { work, end: () => end() };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('a device is held by one caller at a time, in the order of requests; other devices are free', async () => {
  const locks = createDeviceLocks();
  const begun: string[] = [];
  const [first, both, second, other] = ['first', 'both', 'second', 'other'].map((name) =>
    aWork(begun, name),
  );
  locks.hold(['a'], first?.work ?? turn);
  const last = locks.hold(['a', 'b'], both?.work ?? turn);
  locks.hold(['b'], second?.work ?? turn);
  locks.hold(['c'], other?.work ?? turn);
  await turn();
  expect(begun).toEqual(['first', 'other']);
  first?.end();
  await turn();
  expect(begun).toEqual(['first', 'other', 'both']);
  both?.end();
  await last;
  await turn();
  expect(begun).toEqual(['first', 'other', 'both', 'second']);
});

it('a device is free after failed work, and the caller gets the error', async () => {
  const locks = createDeviceLocks();
  const failed = locks.hold(['a'], async () => {
    throw new Error('EIO');
  });
  await expect(failed).rejects.toThrow('EIO');
  expect(await locks.hold(['a'], async () => 'next')).toBe('next');
});
