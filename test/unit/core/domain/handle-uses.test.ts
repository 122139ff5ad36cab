import { describe, expect, it } from 'vitest';
import { handleUse } from '#core/domain/capacity/handle-uses.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { anArq, anInstanceUuid, aStoredHandle } from '#test/support/builders.ts';

const claim = { arqUuid: anArq().uuid, instanceUuid: anInstanceUuid };
const release = 'release-1' as AttachHandle['release'] & string;

describe('a handle is counted', () => {
  it.each([
    ['free', {}],
    ['claimed', { claim }],
    // The claim waits behind the release.
    ['claimed', { claim, release }],
    ['claimed', { claim, isGone: true }],
    ['releasing', { release }],
    ['quarantined', { release, quarantine: 'not blanked' }],
    ['withheld', { restoredAt: '2026-07-01T11:00:00.000Z' }],
    ['claimed', { claim, restoredAt: '2026-07-01T11:00:00.000Z' }],
    // Not at all.
    [undefined, { isGone: true }],
  ] as const)('as %s: %j', (use, given) => {
    expect(handleUse(aStoredHandle(given), true)).toBe(use);
  });

  it.each([
    ['withheld', {}],
    ['claimed', { claim }],
  ] as const)('as %s where its device takes no bind: %j', (use, given) => {
    expect(handleUse(aStoredHandle(given), false)).toBe(use);
  });
});
