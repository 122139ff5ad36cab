import type { ComponentNote, Device, ProgramNote } from '#core/domain/device/device.ts';

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
