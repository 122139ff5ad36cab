// Binds that need an FPGA programmed: the image is found in Glance, copied to S3, and named in the
// host's job. The test records the host's jobs and ends them; everything else is real.

import { createHash, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { JobTooLarge } from '#core/clients/aws/iot-jobs.ts';
import { createHttp } from '#core/clients/http.ts';
import { createGlance } from '#core/clients/openstack/glance.ts';
import { createStaging } from '#core/clients/staging.ts';
import { freePort } from '#local/ports.ts';
import { lacks } from '#test/support/aws/engines.ts';
import { aGbs, fakeInterface, sha256Of } from '#test/support/hosts/gbs.ts';
import {
  fetchBytes,
  loadedFunction,
  loadedId,
  region,
  startFpgaHost,
} from '#test/support/hosts/recorded/fpga-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startFpgaHost);

beforeEach(() => cmp1.bootAfresh());

describe('a bind that names an image', () => {
  it('has the host program it, from a URL that gives exactly its bytes', async () => {
    const data = aGbs({ bitstream: 'x'.repeat(100_000) });
    const id = await cmp1.anImage({ name: 'a.gbs' }, data);
    const { instance, status } = await cmp1.bind({ 'accel:bitstream_id': id });
    expect([status, await cmp1.stateOf(instance)]).toEqual([202, 'BindStarted']);
    await cmp1.startBindOf(instance);
    await cmp1.startBindOf(instance);
    const step = cmp1.theStep();
    expect(step).toMatchObject({
      address: '0000:0d:00.0',
      region: 'region0',
      content: { interface: fakeInterface },
      image: { id, sha256: sha256Of(data), bytes: data.length },
    });
    expect(await fetchBytes(step.image.url)).toEqual(data);
    await cmp1.end('succeeded');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('finds it by name, function id and function name', async () => {
    const mark = randomUUID();
    const id = await cmp1.anImage(
      { name: `${mark}.gbs`, 'accel:function_id': mark, 'accel:function_name': `f-${mark}` },
      aGbs(),
    );
    for (const accel of [
      { 'accel:bitstream_name': `${mark}.gbs` },
      { 'accel:function_id': mark },
      { 'accel:function_name': `f-${mark}` },
    ]) {
      await cmp1.boot();
      cmp1.jobs.clear();
      const { instance } = await cmp1.started(accel);
      expect(cmp1.theStep().image.id).toBe(id);
      await cmp1.remove(instance);
    }
  });

  it('programs a region once for several ARQs of one instance', async () => {
    const id = await cmp1.anImage({}, aGbs());
    await cmp1.started({ 'accel:bitstream_id': id }, 2);
    expect(cmp1.theStep().image.id).toBe(id);
  });

  it('has the host check a region that is reported to hold the image', async () => {
    await cmp1.boot({ bitstream: loadedId, function: loadedFunction });
    const { instance } = await cmp1.started({ 'accel:bitstream_id': loadedId.toUpperCase() });
    expect(cmp1.theOnlyStep()).toMatchObject({ content: { bitstream_id: loadedId } });
    await cmp1.end('succeeded');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
    await cmp1.remove(instance);
    cmp1.jobs.clear();
    const plain = loadedFunction.replaceAll('-', '');
    const byFunction = await cmp1.started({ 'accel:function_id': plain });
    expect(cmp1.theOnlyStep()).toMatchObject({ content: { function_id: loadedFunction } });
    await cmp1.end('failed');
    expect(await cmp1.stateOf(byFunction.instance)).toBe(409);
  });

  it('fails when the host fails, and the content of the region is unknown afterwards', async () => {
    await cmp1.boot({ bitstream: loadedId });
    const id = await cmp1.anImage({}, aGbs());
    const { instance } = await cmp1.started({ 'accel:bitstream_id': id });
    await cmp1.end('failed');
    expect(await cmp1.stateOf(instance)).toBe(409);
    const provider = await cmp1.deps.store.inventory.provider(region);
    expect(provider?.deployable.bitstreamId).toBeUndefined();
  });

  it('keeps the known content of the region when the host did not start the job', async () => {
    const id = await cmp1.anImage({}, aGbs());
    await cmp1.boot({ bitstream: loadedId, function: loadedFunction }, { isSameBoot: true });
    await cmp1.started({ 'accel:bitstream_id': id });
    await cmp1.end('failed');
    await cmp1.boot({ bitstream: loadedId, function: loadedFunction }, { isSameBoot: true });
    const stored = await cmp1.deps.store.inventory.provider(region);
    expect(stored?.deployable).toMatchObject({ bitstreamId: loadedId });
  });

  it('is refused while another instance uses the region', async () => {
    const first = await cmp1.bind({});
    expect(first.status).toBe(202);
    const second = await cmp1.bind({ 'accel:bitstream_id': await cmp1.anImage({}, aGbs()) });
    expect(second).toMatchObject({
      status: 400,
      error: expect.stringContaining('another instance uses its region'),
    });
  });
});

it('fails with the reason when its job cannot be made', async () => {
  const { instance } = await cmp1.bind({ 'accel:bitstream_id': await cmp1.anImage({}, aGbs()) });
  const create = async () => {
    throw new JobTooLarge('The job document for host cmp1 exceeds 32768 bytes.');
  };
  await cmp1.startBindOf(instance, { jobs: { ...cmp1.deps.clients.jobs, create } });
  const listed = await cmp1.world.arqsOf(instance);
  expect([listed.status, listed.json.error_message]).toEqual([
    409,
    expect.stringContaining('exceeds 32768 bytes'),
  ]);
});

describe('an image that is not available', () => {
  const cases: Record<string, () => Promise<Record<string, string>>> = {
    'is missing': async () => ({ 'accel:bitstream_id': randomUUID() }),
    'has no data': async () => ({ 'accel:bitstream_id': await cmp1.anImage({}) }),
    'is empty': async () => ({ 'accel:bitstream_id': await cmp1.anImage({}, Buffer.alloc(0)) }),
    'is missing by name': async () => ({ 'accel:bitstream_name': 'missing.gbs' }),
    'is not the only one': async () => {
      for (const _ of [1, 2]) await cmp1.anImage({ name: 'twice.gbs' }, aGbs());
      return { 'accel:bitstream_name': 'twice.gbs' };
    },
  };

  it.each(Object.entries(cases))('fails the bind: it %s', async (_case, accel) => {
    const { instance } = await cmp1.started(await accel());
    expect([await cmp1.stateOf(instance), cmp1.jobs.size]).toEqual([409, 0]);
  });

  it('makes the bind wait while Glance or S3 is unavailable', async () => {
    const { instance } = await cmp1.bind({ 'accel:bitstream_id': await cmp1.anImage({}, aGbs()) });
    const port = await freePort({ host: '127.0.0.1', port: 0 });
    const away = createGlance({
      identity: { ...cmp1.deps.clients.keystone, endpoint: async () => `http://127.0.0.1:${port}` },
      http: createHttp(),
      ownProject: async () => undefined,
    });
    await expect(cmp1.startBindOf(instance, { glance: away })).rejects.toMatchObject({
      name: 'RetryLater',
    });
    expect(await cmp1.stateOf(instance)).toBe('BindStarted');
    await cmp1.startBindOf(instance);
    expect(cmp1.theStep().image.id).toBeDefined();
  });
});

describe('staging', () => {
  function stagingOf(data: Buffer, bytesMax?: number) {
    let downloads = 0;
    const staging = createStaging({
      glance: {
        download: async () => {
          downloads++;
          return (async function* () {
            yield new Uint8Array(data);
          })();
        },
      },
      ...cmp1.deps.settings.staging,
      clock: Date.now,
      ...(bytesMax && { bytesMax }),
    });
    return { staging, downloads: () => downloads };
  }

  it("copies an image once, and compares it with Glance's hash", async () => {
    const data = aGbs();
    const { staging, downloads } = stagingOf(data);
    const value = createHash('sha512').update(data).digest('hex');
    const image = { id: randomUUID(), hash: { algorithm: 'sha512', value } } as const;
    const staged = await Promise.all([staging.stage(image), staging.stage(image)]);
    expect([downloads(), staged[0]?.sha256]).toEqual([1, sha256Of(data)]);
    const other = {
      ...image,
      hash: { algorithm: 'sha512', value: value.replaceAll('a', 'b') },
    } as const;
    await expect(staging.stage(other)).rejects.toThrow('its sha512 differs');
  });

  it('refuses an image above the limit', async () => {
    const { staging, downloads } = stagingOf(Buffer.alloc(11), 10);
    await expect(staging.stage({ id: randomUUID() })).rejects.toThrow('larger than 10 bytes');
    await expect(staging.stage({ id: randomUUID(), bytes: 11 })).rejects.toThrow('larger than');
    expect(downloads()).toBe(1);
  });

  it.skipIf(lacks('s3-signatures'))('signs URLs for one object and 45 minutes', async () => {
    const { staging } = stagingOf(aGbs());
    const { url } = await staging.stage({ id: randomUUID() });
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(url.replace('Expires=2700', 'Expires=7200'))).status).toBe(403);
    expect((await fetch(url.replace('/unhashed', '/other'))).status).toBe(403);
    expect((await fetch(url.split('?')[0] ?? '')).status).toBe(403);
  });
});

describe('an operator', () => {
  const image = () => cmp1.anImage({ name: 'op.gbs' }, aGbs());
  const deployableUuid = async () =>
    (await cmp1.deps.store.inventory.provider(region))?.deployable.uuid ?? '';

  async function program(id: string, given: { form?: string; token?: string; uuid?: string } = {}) {
    const uuid = given.uuid ?? (await deployableUuid());
    const { form = '/program', token = 'admin-token' } = given;
    const body =
      form === ''
        ? [{ path: '/bitstream', op: 'add', value: id }]
        : [{ path: '/program', op: 'replace', value: [{ image_uuid: id }] }];
    const path = `/v2/deployables/${uuid}${form.replace('{uuid}', uuid)}`;
    return cmp1.world.ask('PATCH', path, { token, body });
  }

  /** The outcome as a reader of deployables sees it. */
  async function programShown() {
    const path = `/v2/deployables/${await deployableUuid()}`;
    return (await cmp1.world.ask('GET', path, { token: 'manager-token' })).json.program;
  }

  /** The messages that the stream puts into the queue. */
  async function startProgram(): Promise<void> {
    const provider = await cmp1.deps.store.inventory.provider(region);
    const ids = new Set(provider?.handles.flatMap(({ release }) => release ?? []));
    for (const id of ids) for (const _ of [1, 2]) await cmp1.startAwaited(cmp1.deps, id);
  }

  it.each(['', '/program', '/program/{uuid}'])(
    'has a region programmed by PATCH %s',
    async (form) => {
      const id = await image();
      const { status, json } = await program(id, { form });
      expect([status, json?.uuid]).toEqual([200, form === '' ? undefined : await deployableUuid()]);
      expect((await program(id)).status).toBe(409);
      await startProgram();
      expect([...cmp1.jobs.values()]).toMatchObject([{ action: 'program' }]);
      const step = cmp1.theStep();
      expect([step.image.id, await fetchBytes(step.image.url)]).toEqual([id, aGbs()]);
      expect(await programShown()).toMatchObject({
        image_uuid: id,
        state: 'started',
        reason: null,
      });
      await cmp1.end('succeeded');
      expect(await programShown()).toMatchObject({ image_uuid: id, state: 'done', reason: null });
      expect((await program(id)).status).toBe(200);
    },
  );

  it('keeps the region from binds until the host has answered', async () => {
    await program(await image());
    const { instance, status } = await cmp1.bind({});
    expect(status).toBe(202);
    await expect(cmp1.startBindOf(instance)).rejects.toMatchObject({ name: 'RetryLater' });
    await startProgram();
    await cmp1.end('failed');
    await cmp1.startBindOf(instance);
    expect(await cmp1.stateOf(instance)).toBe('Bound');
    expect((await program(await image())).status).toBe(409);
  });

  it('frees the region when the image does not exist', async () => {
    await program(randomUUID());
    await startProgram();
    expect(cmp1.jobs.size).toBe(0);
    expect(await programShown()).toMatchObject({ state: 'failed', reason: expect.any(String) });
    expect((await program(await image())).status).toBe(200);
  });

  it('gets the reason of a refusal', async () => {
    expect((await program('no-uuid')).status).toBe(400);
    expect((await program('no-uuid', { form: '' })).status).toBe(400);
    expect((await program(randomUUID(), { uuid: 'x' })).status).toBe(400);
    expect((await program(randomUUID(), { uuid: randomUUID() })).status).toBe(404);
    expect((await program(randomUUID(), { token: 'manager-token' })).status).toBe(403);
  });
});
