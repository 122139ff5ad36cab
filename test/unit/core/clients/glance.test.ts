import { beforeEach, describe, expect, it } from 'vitest';
import { createHttp, RequestRefused, ServiceUnavailable } from '#core/clients/http.ts';
import { createGlance, ImageUnusable } from '#core/clients/openstack/glance.ts';
import type { Answer, Ask } from '#local/openstack/http-service.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { aService } from './service-double.ts';

const id = '11111111-2222-4333-8444-555555555555';
const image = {
  id,
  status: 'active',
  visibility: 'public',
  owner: 'operators',
  size: 4,
  os_hash_algo: 'sha512',
  os_hash_value: 'a'.repeat(128),
};

const service = perTest(() => aService((ask) => answer(ask)));
let answer: (ask: Ask) => Answer;
let tokens: string[];
beforeEach(() => {
  tokens = ['first', 'second'];
});

function glance() {
  const identity = {
    ownToken: async () => tokens[0] ?? '',
    noteAway: () => {},
    dropOwnToken: () => void tokens.shift(),
    endpoint: async () => service.url,
  };
  return createGlance({ identity, http: createHttp(), ownProject: async () => 'service' });
}

async function all(data: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of data) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('an image', () => {
  const byId = () => glance().findImage({ by: 'bitstream_id', value: id });

  it("has its size and Glance's own hash", async () => {
    answer = () => ({ status: 200, body: image });
    const hash = { algorithm: 'sha512', value: image.os_hash_value };
    expect(await byId()).toEqual({ id, bytes: 4, hash, properties: {}, isTrusted: true });
  });

  it.each([
    [{ by: 'bitstream_name', value: 'a b.gbs' }, 'name=a+b.gbs'],
    [{ by: 'function_id', value: '3AFB' }, 'accel%3Afunction_id=3AFB'],
    [{ by: 'function_name', value: 'hello' }, 'accel%3Afunction_name=hello'],
  ] as const)('is looked for by %j', async (query, asked) => {
    const own = { name: 'a b.gbs', 'accel:function_id': '3AFB', 'accel:function_name': 'hello' };
    const other = { ...image, id: '11111111-2222-4333-8444-666666666666', name: 'other' };
    // Glance ignores a filter that it does not know.
    answer = () => ({ status: 200, body: { images: [other, { ...image, ...own }] } });
    expect((await glance().findImage(query)).id).toBe(id);
    expect(service.asked.map(({ query }) => String(query))).toEqual([
      `${asked}&visibility=public&status=active`,
      `${asked}&owner=service&status=active`,
    ]);
  });

  describe('by name is never an image that a tenant may have made', () => {
    const byName = () => glance().findImage({ by: 'bitstream_name', value: 'nic.gbs' });
    const ours = { ...image, name: 'nic.gbs' };
    const tenants = ['private', 'shared', 'community'].map((visibility, index) => {
      const id = `11111111-2222-4333-8444-00000000000${index}`;
      return { ...ours, id, visibility, owner: 'a tenant' };
    });

    it('even if no other image has the name', async () => {
      answer = () => ({ status: 200, body: { images: tenants } });
      await expect(byName()).rejects.toThrow('Glance has no active image, public or of our own');
    });

    it.each([{}, { visibility: 'private', owner: 'service' }])(
      "is the operator's image",
      async (as) => {
        answer = () => ({ status: 200, body: { images: [...tenants, { ...ours, ...as }] } });
        expect((await byName()).id).toBe(id);
      },
    );
  });

  describe('of a project', () => {
    const shared = { ...image, owner: 'a tenant', visibility: 'shared' };
    const asked = () => glance().imageOfProject(id, 'p1');

    it.each([{ visibility: 'public' }, { visibility: 'community' }, { owner: 'p1' }])(
      'is one with %j',
      async (as) => {
        answer = () => ({ status: 200, body: { ...shared, ...as } });
        expect((await asked()).id).toBe(id);
        expect(service.asked).toHaveLength(1);
      },
    );

    const members = (status: number) => {
      answer = ({ path }) =>
        path === `/v2/images/${id}/members/p1`
          ? { status, body: { message: 'not found in the member list' } }
          : { status: 200, body: shared };
    };

    it('is one that is shared with it', async () => {
      members(200);
      expect((await asked()).id).toBe(id);
    });

    it('is none that is shared with others', async () => {
      members(404);
      await expect(asked()).rejects.toMatchObject({ isAbsent: true });
    });

    it('is none of another project, whatever its status', async () => {
      answer = () => ({
        status: 200,
        body: { ...shared, visibility: 'private', status: 'queued' },
      });
      await expect(asked()).rejects.toMatchObject({ isAbsent: true });
    });

    it('is no private one of another project', async () => {
      answer = () => ({ status: 200, body: { ...shared, visibility: 'private' } });
      await expect(asked()).rejects.toThrow(`Glance has no image ${id}.`);
    });
  });

  it.each(['deleted', 'queued', 'deactivated', 'pending_delete'])(
    'that is %s is unusable',
    async (status) => {
      answer = () => ({ status: 200, body: { ...image, status } });
      await expect(byId()).rejects.toThrow(`Image ${id} cannot be used: it is ${status}.`);
    },
  );

  it('that does not exist is unusable', async () => {
    answer = () => ({ status: 404, body: { message: 'No image found' } });
    await expect(byId()).rejects.toThrow(`Glance has no image ${id}.`);
  });

  it("that we may not see is refused with Glance's message", async () => {
    answer = () => ({ status: 403, body: '<h1>403 Forbidden</h1> Not allowed.' });
    const failed = await byId().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RequestRefused);
    expect(String(failed)).toMatch(/image answered 403 to GET http.*Not allowed/);
  });
});

describe('data', () => {
  it('is read unchanged, even after Glance refuses our token once', async () => {
    answer = ({ headers }) =>
      headers['x-auth-token'] === 'second'
        ? { status: 200, body: Buffer.from('bits') }
        : { status: 401 };
    expect(await all(await glance().download(id))).toBe('bits');
  });

  it.each([403, 404, 410, 204, 302])('that is answered with %i is unusable', async (status) => {
    answer = () => ({ status, headers: { Location: 'http://elsewhere.test' } });
    const failed = await glance()
      .download(id)
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(ImageUnusable);
    expect(String(failed)).toContain(
      `does not give out the data of image ${id}: it answered ${status}`,
    );
  });

  it.each([429, 500, 503])('that is answered with %i may come later', async (status) => {
    answer = () => ({ status });
    const failed = await glance()
      .download(id)
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ name: 'ServiceUnavailable', isWorthRetrying: true });
    expect(String(failed)).toContain(`${service.url}/v2/images/${id}/file`);
  });

  it('that ends early may come later', async () => {
    const broken = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from('bi')),
      pull: (controller) => controller.error(new Error('reset')),
    });
    const identity = {
      ownToken: async () => 'token',
      noteAway: () => {},
      dropOwnToken: () => {},
      endpoint: async () => 'http://glance.test',
    };
    const fetch = async () => new Response(broken);
    const ownProject = async () => undefined;
    const glance = createGlance({ identity, http: createHttp(), ownProject, fetch });
    const data = await glance.download(id);
    await expect(all(data)).rejects.toThrow(ServiceUnavailable);
  });
});
