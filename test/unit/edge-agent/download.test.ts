import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDownloads, DownloadFailed, type WantedImage } from '#agent/images/download.ts';
import { silentLog } from '#test/support/hosts/agent.ts';
import { sha256Of } from '#test/support/hosts/gbs.ts';
import { serveHttp } from '#test/support/http-server.ts';
import { directoryPerTest, perTest } from '#test/support/vitest/shared.ts';

const content = Buffer.from('an image '.repeat(10_000));
const directory = directoryPerTest();
const server = perTest(() =>
  serveHttp((request, response) => {
    requests.push(request.url ?? '');
    respond(request, response);
  }),
);
let respond: RequestListener;
let requests: string[];

beforeEach(() => {
  requests = [];
  respond = (_request, response) => response.end(content);
});

function wanted(given: Partial<WantedImage> = {}): WantedImage {
  const url = `${server.url}/..%2f..%2fetc?signature=secret`;
  return { url, sha256: sha256Of(content), bytes: content.length, ...given };
}

const origin = ({ url }: WantedImage) => new URL(URL.canParse('/', url) ? '/' : url, url).href;
const never = new AbortController().signal;

/** The bytes that would be written to a device. */
function download(image: WantedImage, stop = never): Promise<Buffer> {
  const use = async (path: string) => readFileSync(path);
  return createDownloads(directory, silentLog, { source: origin(image) }).withImage(
    image,
    stop,
    use,
  );
}

describe('an image', () => {
  it('is lent as announced, from a file whose name the agent chose', async () => {
    expect(await download(wanted())).toEqual(content);
    expect(readdirSync(directory)).toEqual([`${sha256Of(content)}.image`]);
  });

  it('is fetched once while it is kept', async () => {
    await download(wanted());
    await download(wanted());
    expect(requests).toHaveLength(1);
  });

  it('is fetched again if the kept file has changed', async () => {
    await download(wanted());
    const changed = Buffer.from(content).fill('x', 0, 1);
    writeFileSync(join(directory, `${sha256Of(content)}.image`), changed);
    expect(await download(wanted())).toEqual(content);
  });

  it('makes room for others, the least recently used first', async () => {
    respond = (request, response) => response.end(request.url);
    for (const name of ['/1', '/2', '/3', '/4', '/5', '/6']) {
      const url = new URL(name, wanted().url).href;
      const bytes = Buffer.from(name);
      await download({ url, sha256: sha256Of(bytes), bytes: bytes.length });
    }
    expect(readdirSync(directory)).toHaveLength(4);
    expect(readdirSync(directory)).not.toContain(`${sha256Of(Buffer.from('/1'))}.image`);
  });
});

describe('a download fails, and leaves no file,', () => {
  async function fails(image: WantedImage, reason: string, stop = never): Promise<void> {
    const failure = await download(image, stop).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DownloadFailed);
    expect(String(failure)).toContain(reason);
    expect(String(failure)).not.toContain('secret');
    expect(readdirSync(directory)).toEqual([]);
  }

  it.each([403, 404, 500, 206, 304])('if the answer is %i', async (status) => {
    respond = (_request, response) => response.writeHead(status).end(content);
    await fails(wanted(), 'status');
  });

  it('if the answer redirects', async () => {
    respond = (_request, response) => response.writeHead(302, { location: '/other' }).end();
    await fails(wanted(), 'status 302');
    expect(requests).toHaveLength(1);
  });

  it('if the image has another digest', () => fails(wanted({ sha256: '0'.repeat(64) }), 'SHA-256'));

  it('if the image is longer than announced, without taking more', async () => {
    respond = (_request, response) => {
      const more = () => response.write(content, more);
      more();
    };
    await fails(wanted({ bytes: 100 }), 'more than the 100 bytes');
  });

  it('if the image is shorter than announced', () =>
    fails(wanted({ bytes: content.length + 1 }), `not the ${content.length + 1}`));

  it('if the connection is lost', async () => {
    respond = (_request, response) => {
      response.writeHead(200, { 'content-length': content.length });
      response.write(content.subarray(0, 10), () => response.destroy());
    };
    await fails(wanted(), 'could not be fetched');
  });

  it('if no server listens', () => fails(wanted({ url: 'http://127.0.0.1:1/' }), 'ECONNREFUSED'));

  it.each(['file:///etc/passwd', 'ftp://127.0.0.1/x', 'data:,x'])('if its URL is %s', (url) =>
    fails(wanted({ url }), 'Images are not fetched from'),
  );

  it('if it is aborted', async () => {
    const stop = new AbortController();
    respond = (_request, response) => {
      response.write(content.subarray(0, 10), () => stop.abort());
    };
    await fails(wanted(), 'could not be fetched', stop.signal);
  });

  it('if the disk is full', async () => {
    writeFileSync(join(directory, 'file'), '');
    const downloads = createDownloads(join(directory, 'file/below'), silentLog, {
      source: origin(wanted()),
    });
    await expect(downloads.withImage(wanted(), never, async () => {})).rejects.toThrow('ENOTDIR');
  });
});

it('removes the partial files of a crash', async () => {
  writeFileSync(join(directory, 'half.part'), 'x');
  await download(wanted());
  expect(readdirSync(directory)).toEqual([`${sha256Of(content)}.image`]);
});
