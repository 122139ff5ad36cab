import { describe, expect, it } from 'vitest';
import type { AttachHandle } from '#core/domain/device/device.ts';
import {
  handleStateOf,
  isClaimable,
  isUnheld,
  isWithheld,
} from '#core/domain/device/handle-state.ts';
import { anArq, anInstanceUuid, aStoredHandle } from '#test/support/builders.ts';

const claim = { arqUuid: anArq().uuid, instanceUuid: anInstanceUuid };
const release = 'release-1' as AttachHandle['release'] & string;
const restoredAt = '2026-07-01T11:00:00.000Z';
const quarantine = 'EIO';

describe('the state of an attach handle', () => {
  it.each([
    [{}, 'free'],
    [{ release }, 'releasing'],
    [{ claim }, 'claimed'],
    [{ claim, release }, 'claimed'],
    [{ claim, isGone: true }, 'claimed'],
    [{ isGone: true }, 'gone'],
    [{ release, isGone: true }, 'gone'],
    [{ restoredAt }, 'restored'],
    [{ claim, restoredAt }, 'restored'],
    [{ release, quarantine }, 'quarantined'],
    [{ claim, release, quarantine, restoredAt, isGone: true }, 'quarantined'],
  ] as const)('of %j is %s', (given, state) => {
    const handle = aStoredHandle(given);
    expect(handleStateOf(handle)).toBe(state);
    expect(isClaimable(handle)).toBe(state === 'free' || state === 'releasing');
    expect(isWithheld(handle)).toBe(state === 'quarantined' || state === 'restored');
    expect(isUnheld(handle)).toBe(!('claim' in given) && !('release' in given));
  });
});
