import type { ComponentNote, ProgramNote } from '#core/domain/device/device.ts';

interface Programs {
  /** The region's; a device has none. */
  readonly program?: ProgramNote;
  readonly programs?: readonly ComponentNote[];
}

/** @param seesUsers who reads devices without the operators' role sees no ids of users */
export function viewPrograms({ program, programs = [] }: Programs, seesUsers: boolean) {
  const notes = [...(program ? [{ ...program, component: 'bitstream' }] : []), ...programs];
  return notes
    .map((note: ProgramNote & Partial<ComponentNote>) => ({
      what: note.component ?? 'bitstream',
      imageUuid: note.image,
      version: note.version,
      state: note.state,
      reason: note.reason,
      evidence: note.evidence,
      requestedBy: seesUsers ? note.by : undefined,
      requestedAt: note.at,
    }))
    .sort((a, b) => (a.what < b.what ? -1 : 1));
}
