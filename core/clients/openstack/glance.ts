// A client for Glance: finds images and reads their data.

import * as z from 'zod';
import {
  expectStatus,
  type Fetch,
  type Http,
  readBody,
  ServiceUnavailable,
  saysAbsent,
} from '#core/clients/http.ts';
import type { ImageQuery } from '#core/domain/profile/device-profile.ts';
import { createServiceCalls, renewalsMax, type ServiceIdentity } from './service-calls.ts';

/** The image cannot be used, and a retry does not help; the message is for the caller. */
export class ImageUnusable extends Error {
  override readonly name = 'ImageUnusable';
  /** Whether the image does not exist. */
  readonly isAbsent: boolean;

  constructor(sentence: string, { isAbsent = false } = {}) {
    super(sentence);
    this.isAbsent = isAbsent;
  }
}

export interface GlanceImage {
  readonly id: string;
  /** Undefined if Glance does not give it. */
  readonly bytes?: number;
  /** Its algorithm is supported; old images have no hash. */
  readonly hash?: { readonly algorithm: 'sha256' | 'sha512'; readonly value: string };
  /** Those that begin with `accel:`. */
  readonly properties?: Readonly<Record<string, string>>;
  /** An admin answers for it: it is public, or of our own project. */
  readonly isTrusted?: boolean;
}

export interface Glance {
  /**
   * The one active image that the query names. @throws ImageUnusable, RequestRefused,
   * ServiceUnavailable
   */
  findImage(query: ImageQuery): Promise<GlanceImage>;
  /**
   * The image that a project names, which it must be able to see. @throws ImageUnusable,
   * RequestRefused, ServiceUnavailable
   */
  imageOfProject(id: string, projectId: string): Promise<GlanceImage>;
  /** The image's data; reading it can throw ServiceUnavailable. @throws ImageUnusable */
  download(id: string): Promise<AsyncIterable<Uint8Array>>;
}

/** Within the time that the consumer has. */
const downloadMsMax = 90_000;

export function createGlance(options: {
  readonly identity: ServiceIdentity;
  readonly http: Http;
  /** Undefined where it is not known. */
  readonly ownProject: () => Promise<string | undefined>;
  readonly fetch?: Fetch;
}): Glance {
  const { identity, http } = options;
  const send: Fetch = options.fetch ?? ((url, init) => fetch(url, init));
  const call = createServiceCalls(http, identity, { type: 'image', headers: {} });

  /** @param projectId must be able to see it: else it is absent, as for Glance */
  async function byId(id: string, projectId?: string): Promise<ListedImage> {
    const { request, answer } = await call('GET', `/v2/images/${encodeURIComponent(id)}`);
    if (saysAbsent(answer, 'message')) throw absent(id);
    expectStatus(request, answer, 200);
    const image = readBody(imageBody, request, answer);
    if (projectId !== undefined && !(await isSeenBy(projectId, image))) throw absent(id);
    if (image.status !== 'active') {
      throw new ImageUnusable(`Image ${id} cannot be used: it is ${image.status}.`);
    }
    return image;
  }

  async function list(filter: Readonly<Record<string, string>>): Promise<ListedImage[]> {
    const all = { ...filter, status: 'active' };
    const { request, answer } = await call('GET', `/v2/images?${new URLSearchParams(all)}`);
    expectStatus(request, answer, 200);
    const { images } = readBody(listBody, request, answer);
    // Glance ignores a filter that it does not know.
    return images.filter((each) => Object.entries(all).every(([name, is]) => each[name] === is));
  }

  /**
   * Our role sees the images of all tenants, and any tenant can choose names and properties. Only
   * public images, which an admin publishes, and images of our own project are trusted.
   */
  async function byProperty(property: string, value: string): Promise<ListedImage> {
    const owner = await options.ownProject();
    const images = [
      ...(await list({ [property]: value, visibility: 'public' })),
      ...(owner === undefined ? [] : await list({ [property]: value, owner })),
    ];
    const [image, ...others] = new Map(images.map((each) => [each.id, each])).values();
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
        // fetch would send our token to the redirect's target.
        redirect: 'manual',
      });
    let token = await identity.ownToken();
    let response = await ask(token);
    for (let renewals = 0; response.status === 401 && renewals < renewalsMax; renewals += 1) {
      await response.body?.cancel();
      identity.dropOwnToken(token);
      token = await identity.ownToken();
      response = await ask(token);
    }
    return response;
  }

  async function toImage(image: ListedImage): Promise<GlanceImage> {
    const { id, size, os_hash_algo, os_hash_value, visibility, owner } = image;
    const hash = knownHash.safeParse({ algorithm: os_hash_algo, value: os_hash_value });
    const isPublic = visibility === 'public';
    return {
      id,
      properties: ownProperties(image),
      isTrusted: isPublic || (owner != null && owner === (await options.ownProject())),
      ...(size && { bytes: size }),
      ...(hash.success && { hash: hash.data }),
    };
  }

  async function isSeenBy(projectId: string, image: ListedImage): Promise<boolean> {
    const { id, visibility, owner } = image;
    if (owner === projectId || visibility === 'public' || visibility === 'community') return true;
    if (visibility !== 'shared') return false;
    const member = `/v2/images/${id}/members/${encodeURIComponent(projectId)}`;
    const { request, answer } = await call('GET', member);
    if (saysAbsent(answer, 'message')) return false;
    expectStatus(request, answer, 200);
    return true;
  }

  return {
    findImage: async ({ by, value }) => {
      const property = properties[by];
      return await toImage(property ? await byProperty(property, value) : await byId(value));
    },

    imageOfProject: async (id, projectId) => await toImage(await byId(id, projectId)),

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

/** Filters by which an image is searched; an id needs none. */
const properties = {
  bitstream_id: undefined,
  bitstream_name: 'name',
  function_id: 'accel:function_id',
  function_name: 'accel:function_name',
} as const satisfies Record<ImageQuery['by'], string | undefined>;

// Custom properties are on the same level as Glance's own fields.
const imageBody = z.looseObject({
  id: z.guid(),
  status: z.string(),
  size: z.number().nullish(),
  visibility: z.string().nullish(),
  owner: z.string().nullish(),
  os_hash_algo: z.string().nullish(),
  os_hash_value: z.string().nullish(),
});
type ListedImage = z.infer<typeof imageBody>;
const listBody = z.object({ images: z.array(imageBody) });

function absent(id: string): ImageUnusable {
  return new ImageUnusable(`Glance has no image ${id}.`, { isAbsent: true });
}

function ownProperties(image: ListedImage): Record<string, string> {
  const own = Object.entries(image).filter(([name]) => name.startsWith('accel:'));
  return Object.fromEntries(own.map(([name, value]) => [name, String(value)]));
}

const knownHash = z.object({
  algorithm: z.enum(['sha256', 'sha512']),
  value: z.string().regex(/^[0-9a-f]{64,128}$/),
});
