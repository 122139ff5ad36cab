import { describe, expect, it } from 'vitest';
import { readJob } from '#agent/broker/read-job.ts';

const bootId = '6f4f1d67-52a6-4b63-9d1b-9b44b1a0d9b7';
const uuid = '91ac1606-427e-44bb-8233-f4ff4bf3d241';
const recipient = { thing: 'test:cmp1:example', bootId };
const envelope = { version: 1, host: 'cmp1.example', boot_id: bootId };
const handle = { uuid, type: 'MDEV', info: { asked_type: 'fake-1' }, epoch: 1 };
const mdev = { kind: 'prepare', driver: 'fake_gpu', address: '0000:0e:00.0', handle };
const ofType = (type: string) => ({ ...mdev, handle: { ...handle, info: { asked_type: type } } });
const withUuid = (given: string) => ({ ...mdev, handle: { ...handle, uuid: given } });
const image = {
  id: uuid,
  url: 'https://images.example/1?signature=x',
  sha256: 'a'.repeat(64),
  bytes: 10,
};
const place = { kind: 'prepare', driver: 'fake_fpga', address: '0000:0d:00.0' };
const programStep = { ...place, region: 'region0', content: { image } };
const ofImage = (given: object) => ({ ...programStep, content: { image: { ...image, ...given } } });

const prepare = (step: object) => ({
  ...envelope,
  action: 'prepare',
  bind_id: uuid,
  steps: [step],
});
const read = (document: unknown) => readJob(document, recipient);

describe('a job', () => {
  it('is read with its steps', () => {
    expect(read(prepare(mdev))).toEqual({
      job: { action: 'prepare', bindId: uuid, steps: [mdev] },
    });
    expect(read({ ...envelope, action: 'rediscover' })).toEqual({
      job: { action: 'rediscover', steps: [] },
    });
  });

  it("has uuids in the kernel's spelling", () => {
    const upper = prepare(withUuid(uuid.toUpperCase()));
    const read = readJob({ ...upper, boot_id: bootId.toUpperCase() }, recipient);
    expect(read).toMatchObject({ job: { steps: [mdev] } });
  });
});

describe('a document is refused', () => {
  it.each([
    ['an address that climbs', { ...mdev, address: '../../etc' }],
    ['an address with a path behind it', { ...mdev, address: '0000:0e:00.0/../..' }],
    ['a uuid with a slash', withUuid('91ac1606-427e-44bb-8233-f4ff4bf3d2/1')],
    ['a uuid of many lines', withUuid(`${uuid}\n${uuid}`)],
    ['the type ..', ofType('..')],
    ['a type with a slash', ofType('a/create')],
    ['an empty type', ofType('')],
    ['a region that climbs', { ...programStep, region: '../x' }],
    ['a file as an image', ofImage({ url: 'file:///etc/shadow' })],
    ['an image by ftp', ofImage({ url: 'ftp://x/y' })],
    ['a digest that is a path', ofImage({ sha256: '../'.repeat(21) })],
    ['an image of two gigabytes', ofImage({ bytes: 2 ** 31 })],
    ['an image of half a byte', ofImage({ bytes: 0.5 })],
    ['a driver that climbs', { ...mdev, driver: '../x' }],
    ['an unknown step', { ...mdev, kind: 'run', command: 'rm' }],
    ['no step', null],
  ])('for %s', (_name, step) => {
    const result = readJob({ ...prepare(mdev), steps: [step] }, recipient);
    expect(result).toEqual({ refused: expect.stringContaining('malformed') });
  });

  it.each([
    ['another host', { host: 'cmp2.example' }, 'for cmp2.example'],
    ['another boot', { boot_id: uuid }, 'another boot'],
    ['an older form', { version: 0 }, 'form 0'],
    ['a newer form', { version: 2 }, 'form 2'],
    ['an unknown action', { action: 'reboot' }, 'malformed'],
    ['too many steps', { steps: Array.from({ length: 65 }, () => mdev) }, 'malformed'],
    ['its size', { padding: 'x'.repeat(200_000) }, 'bytes'],
  ])('for %s', (_name, given, reason) => {
    const result = readJob({ ...prepare(mdev), ...given }, recipient);
    expect(result).toEqual({ refused: expect.stringContaining(reason) });
  });

  it.each([undefined, null, 'text', 7, [], {}])('if it is %j', (document) => {
    expect(read(document)).toHaveProperty('refused');
  });
});
