// Glance, as far as Cyborg needs it: which image is meant, and its bytes.

import * as z from 'zod';
import type { ImageQuery } from '../domain/device-profile.ts';
import {
  expectStatus,
  type Fetch,
  type Http,
  readBody,
  ServiceUnavailable,
  saysAbsent,
} from './http.ts';
import { createServiceCalls, type ServiceIdentity } from './service-calls.ts';

/** No image, or not this one, and asking again will not help; the message is fit for the caller. */
export class ImageUnusable extends Error {
  override readonly name = 'ImageUnusable';
  /** Whether there is no such image at all. */
  readonly isAbsent: boolean;

  constructor(sentence: string, { isAbsent = false } = {}) {
    super(sentence);
    this.isAbsent = isAbsent;
  }
}

export interface GlanceImage {
  readonly id: string;
  /** Undefined where Glance does not say. */
  readonly bytes?: number;
  /** By an algorithm that we know; images of old have none. */
  readonly hash?: { readonly algorithm: 'sha256' | 'sha512'; readonly value: string };
}

export interface Glance {
  /** The one active image that is meant. @throws ImageUnusable, RequestRefused, ServiceUnavailable */
  findImage(query: ImageQuery): Promise<GlanceImage>;
  /** Its bytes; reading them throws ServiceUnavailable, too. @throws ImageUnusable */
  download(id: string): Promise<AsyncIterable<Uint8Array>>;
}

/** Within the time that the consumer has. */
const downloadMsMax = 90_000;

export function createGlance(options: {
  readonly identity: ServiceIdentity;
  readonly http: Http;
  /** Undefined where it cannot be told. */
  readonly ownProject: () => Promise<string | undefined>;
  readonly fetch?: Fetch;
}): Glance {
  const { identity, http } = options;
  const send: Fetch = options.fetch ?? ((url, init) => fetch(url, init));
  const call = createServiceCalls(http, identity, { type: 'image', headers: {} });

  async function byId(id: string): Promise<ListedImage> {
    const { request, answer } = await call('GET', `/v2/images/${encodeURIComponent(id)}`);
    if (saysAbsent(answer, 'message')) {
      throw new ImageUnusable(`Glance has no image ${id}.`, { isAbsent: true });
    }
    expectStatus(request, answer, 200);
    const image = readBody(imageBody, request, answer);
    if (image.status !== 'active') {
      throw new ImageUnusable(`Image ${id} cannot be used: it is ${image.status}.`);
    }
    return image;
  }

  async function list(wanted: Readonly<Record<string, string>>): Promise<ListedImage[]> {
    const all = { ...wanted, status: 'active' };
    const { request, answer } = await call('GET', `/v2/images?${new URLSearchParams(all)}`);
    expectStatus(request, answer, 200);
    const { images } = readBody(listBody, request, answer);
    // Glance leaves out what it does not understand of a filter.
    return images.filter((each) => Object.entries(all).every(([name, is]) => each[name] === is));
  }

  /**
   * Glance shows us what any tenant has, and anybody may give an image any name and property: only what
   * Glance lets an admin publish, or our own project has, is what an operator can have meant.
   */
  async function byProperty(property: string, value: string): Promise<ListedImage> {
    const owner = await options.ownProject();
    const found = [
      ...(await list({ [property]: value, visibility: 'public' })),
      ...(owner === undefined ? [] : await list({ [property]: value, owner })),
    ];
    const [image, ...others] = new Map(found.map((each) => [each.id, each])).values();
    if (!image) {
      throw new ImageUnusable(
        `Glance has no active image, public or of our own project, whose ${property} is ${value}.`,
      );
    }
    if (others.length > 0) {
      throw new ImageUnusable(
        `Glance has several active images whose ${property} is ${value}; one must be meant.`,
      );
    }
    return image;
  }

  async function get(url: string): Promise<Response> {
    const ask = (token: string) =>
      send(url, {
        headers: { 'X-Auth-Token': token, 'User-Agent': 'cyborg-serverless' },
        signal: AbortSignal.timeout(downloadMsMax),
        // fetch would carry our token along to wherever the answer points.
        redirect: 'manual',
      });
    const token = await identity.ownToken();
    const response = await ask(token);
    if (response.status !== 401) return response;
    await response.body?.cancel();
    identity.dropOwnToken(token);
    return ask(await identity.ownToken());
  }

  return {
    findImage: async ({ by, value }) => {
      const property = properties[by];
      const { id, size, os_hash_algo, os_hash_value } = property
        ? await byProperty(property, value)
        : await byId(value);
      const hash = knownHash.safeParse({ algorithm: os_hash_algo, value: os_hash_value });
      return { id, ...(size && { bytes: size }), ...(hash.success && { hash: hash.data }) };
    },

    download: async (id) => {
      const url = `${await identity.endpoint('image')}/v2/images/${encodeURIComponent(id)}/file`;
      const away = (reason: string) => new ServiceUnavailable('image', url, reason, true);
      const response = await get(url).catch((error: unknown) => {
        throw error instanceof ServiceUnavailable ? error : away(String(error));
      });
      const { status, body } = response;
      if (status === 200 && body) return whole(body, away);
      await body?.cancel();
      if (status >= 500 || status === 429) throw away(`it answered ${status}`);
      throw new ImageUnusable(
        `Glance does not give out the data of image ${id}: it answered ${status}.`,
      );
    },
  };
}

async function* whole(body: AsyncIterable<Uint8Array>, away: (reason: string) => Error) {
  try {
    yield* body;
  } catch (error) {
    throw away(`the download ended early (${error})`);
  }
}

/** What an image is looked for by; an id is its address. */
const properties = {
  bitstream_id: undefined,
  bitstream_name: 'name',
  function_id: 'accel:function_id',
  function_name: 'accel:function_name',
} as const satisfies Record<ImageQuery['by'], string | undefined>;

// An image's own properties stand beside Glance's.
const imageBody = z.looseObject({
  id: z.guid(),
  status: z.string(),
  size: z.number().nullish(),
  os_hash_algo: z.string().nullish(),
  os_hash_value: z.string().nullish(),
});
type ListedImage = z.infer<typeof imageBody>;
const listBody = z.object({ images: z.array(imageBody) });

const knownHash = z.object({
  algorithm: z.enum(['sha256', 'sha512']),
  value: z.string().regex(/^[0-9a-f]{64,128}$/),
});
