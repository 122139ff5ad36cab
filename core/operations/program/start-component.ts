// How the program of a component gets its device: at once, or after the servers that have it have
// gone.

import type { Deps } from '#core/deps.ts';
import type {
  AttachHandle,
  ComponentNote,
  Device,
  StatusChange,
} from '#core/domain/device/device.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';
import { DeviceInUse } from '#core/domain/errors.ts';
import { componentDueAt, sweepSeconds } from '#core/domain/host-work/deadlines.ts';
import type { HostProgram } from '#core/domain/host-work/host-work.ts';
import type { ReleaseId } from '#core/domain/ids.ts';
import { noteProgram } from '#core/operations/host-work/programs/note-program.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { present } from '#core/shapes/derive/present.ts';
import { rowsPerComponentProgramMax } from '#core/store/inventory/component-programs.ts';
import { timeNow } from '../time-now.ts';

interface Origin {
  readonly requestId?: string;
  /** The program that has waited for the handles. */
  readonly drained?: HostProgram;
}

export async function readHandles(deps: Deps, { providers }: Device): Promise<AttachHandle[]> {
  const stored = await deps.store.inventory.providers(providers);
  return stored.flatMap(({ handles }) => handles);
}

/**
 * Keeps all handles of the device, which are free, for the program.
 *
 * @throws DeviceInUse
 */
export async function startComponent(
  deps: Deps,
  device: Device,
  note: ComponentNote,
  origin: Origin,
): Promise<void> {
  await store(deps, device, note, origin, await readHandles(deps, device));
  deps.log.info('Program requested', { device: device.uuid, ...note });
}

/** Disables the device; {@link resumeDrained} starts the program when its handles are free. */
export async function drainFirst(
  deps: Deps,
  device: Device,
  note: ComponentNote,
  origin: Origin,
): Promise<void> {
  await store(deps, device, { ...note, state: 'draining' }, origin, []);
  deps.log.info('Program waits for free handles', { device: device.uuid, ...note });
}

/**
 * Starts a program whose device is drained, when its handles are free. Ends it when an operator
 * has enabled the device. The sweep comes again until then.
 */
export async function resumeDrained(deps: Deps, program: HostProgram): Promise<void> {
  const { component, hostname } = program;
  const { devices } = await deps.store.inventory.host(hostname);
  const device = devices.find(({ uuid }) => uuid === component?.deviceUuid);
  const note = device?.programs?.find(({ id }) => id === component?.noteId);
  const isLeft = device && note?.state === 'draining' && !device.isGone;
  if (!isLeft || device.status === 'enabled') {
    await noteProgram(deps, program, 'failed', { failure: 'The device was enabled, or has gone.' });
    await deps.store.releases.confirm(program, makeChangeNote(deps));
    return;
  }
  const handles = await readHandles(deps, device);
  if (handles.some((handle) => handleStateOf(handle) !== 'free')) {
    await deps.store.releases.postpone(program, timeNow(deps, sweepSeconds * 1000));
    return;
  }
  const origin = { drained: program, ...present({ requestId: program.requestId }) };
  const started = { ...note, state: 'started', since: timeNow(deps) } as const;
  await startComponent(deps, device, started, origin);
}

async function store(
  deps: Deps,
  device: Device,
  note: ComponentNote,
  { requestId, drained }: Origin,
  handles: readonly AttachHandle[],
): Promise<void> {
  const { uuid, hostname } = device;
  const providers = await deps.store.inventory.providers(device.providers);
  const [own] = device.providers;
  const isDraining = note.state === 'draining';
  // The program keeps the device's handles, so a device without handles cannot be kept.
  if (!own || (handles.length === 0 && !isDraining)) {
    throw new DeviceInUse(uuid, 'it offers no attach handle');
  }
  if (providers.length + handles.length > rowsPerComponentProgramMax) {
    throw new DeviceInUse(uuid, `it has more than ${rowsPerComponentProgramMax} attach handles`);
  }
  const { id, component: name, version, image, by, at } = note;
  const program: HostProgram = {
    kind: 'program',
    id: (drained ? deps.uuid() : id) as ReleaseId,
    hostname,
    handles: handles.map((handle) => ({
      providerUuid: handle.providerUuid,
      handleUuid: handle.uuid,
    })),
    imageId: image,
    providerUuid: own,
    component: {
      name,
      version,
      deviceUuid: uuid,
      noteId: id,
      ...(isDraining && { isDraining }),
    },
    startedAt: timeNow(deps),
    ...present({ requestId }),
  };
  // A device that an operator has disabled stays so afterwards.
  const isOurs = device.status === 'enabled' || device.statusChange?.program !== undefined;
  const change: StatusChange | undefined = isOurs
    ? {
        status: 'maintaining',
        by,
        at,
        reason: `${name} is programmed with image ${image}`,
        program: id,
        ...present({ requestId }),
      }
    : undefined;
  const rows = {
    ...device,
    providers: providers.map(({ deployable }) => deployable.providerUuid),
  };
  const dueAt = isDraining ? timeNow(deps, sweepSeconds * 1000) : componentDueAt(deps.clock());
  const { componentPrograms } = deps.store;
  if (!(await componentPrograms.start(rows, program, note, change, dueAt, drained))) {
    throw new DeviceInUse(uuid, 'it has just changed; ask again');
  }
}
