import { createHash } from 'node:crypto';

export { aFunction, aGbs, fakeInterface, type GbsFields as GbsGiven } from '#local/demo/gbs.ts';

export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
