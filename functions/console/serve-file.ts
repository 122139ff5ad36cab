// An answer with one of the console's files, and the headers that keep the page to itself: it
// runs no script but its own, speaks to no other origin, and is in no frame.

import { consolePage } from '#core/contracts/console-files.ts';
import type { Reply, Request } from '#functions/http/action.ts';
import { HttpFault } from '#functions/http/faults.ts';
import type { ConsoleDeps } from './deps.ts';

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** A browser that was here once asks by HTTPS only, whatever a link says. */
export const httpsOnly = { 'strict-transport-security': 'max-age=31536000' } as const;

const guards: Readonly<Record<string, string>> = {
  ...httpsOnly,
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), ' +
    'magnetometer=(), microphone=(), midi=(), payment=(), usb=()',
};

/** A name with the hash of its content never has another content. */
const forever = 'public, max-age=31536000, immutable';

export async function serveFile(
  { deps, headers }: Request<unknown, unknown, ConsoleDeps>,
  name: string,
): Promise<Reply> {
  const file = await deps.files.find(name, headers['accept-encoding']);
  if (!file) throw new HttpFault(404, `The console has no file ${JSON.stringify(name)}.`);
  const always = {
    ...guards,
    etag: file.etag,
    vary: 'Accept-Encoding',
    'cache-control': name === consolePage ? 'no-cache' : forever,
  };
  const cachedTags = (headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim());
  // Proxies mark tags as weak when they encode a body themselves.
  if (cachedTags.some((tag) => tag === '*' || tag.replace(/^W\//, '') === file.etag)) {
    return { status: 304, headers: always };
  }
  return {
    headers: {
      ...always,
      'content-type': file.type,
      ...(file.encoding && { 'content-encoding': file.encoding }),
    },
    bytes: file.content,
  };
}
