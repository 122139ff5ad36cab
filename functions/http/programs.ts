// Programs of devices and regions, as requests ask for them and answers show them.

import * as z from 'zod';
import type { ComponentNote, Device, ProgramNote } from '#core/domain/device/device.ts';

/**
 * A list of one operation. The specification lets a request have several; each here takes its
 * device for itself, so the second one is named and refused.
 */
export function oneProgram<Operation extends z.ZodType>(operation: Operation) {
  return z.tuple([operation], z.unknown()).superRefine(([_, second], context) => {
    if (second === undefined) return;
    const path = (second as { path?: unknown } | null)?.path;
    context.addIssue({
      code: 'custom',
      path: [1],
      message: `${JSON.stringify(path)} must be sent in a request of its own, after the first has ended`,
    });
  });
}

interface Programs extends Pick<Device, 'components'> {
  /** The region's; a device has none. */
  readonly program?: ProgramNote;
  readonly programs?: readonly ComponentNote[];
}

/** @param seesUsers who reads devices without the operators' role sees no ids of users */
export function viewPrograms(
  { program, programs = [], components = [] }: Programs,
  seesUsers: boolean,
) {
  const notes = [...(program ? [{ ...program, component: 'bitstream' }] : []), ...programs];
  return notes
    .map((note: ProgramNote & Partial<ComponentNote>) => ({
      what: note.component ?? 'bitstream',
      imageUuid: note.image,
      version: note.version,
      state: note.state,
      percent:
        note.state === 'started'
          ? components.find(({ name }) => name === note.component)?.percent
          : undefined,
      reason: note.reason,
      evidence: note.evidence,
      requestedBy: seesUsers ? note.by : undefined,
      requestedAt: note.at,
    }))
    .sort((a, b) => (a.what < b.what ? -1 : 1));
}
