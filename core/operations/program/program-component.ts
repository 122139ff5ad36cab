import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import { modelOf, readComponentImage } from '#core/domain/device/component-image.ts';
import type { ComponentNote, Device, StatusChange } from '#core/domain/device/device.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';
import {
  AgentAway,
  DeviceInUse,
  DeviceNotFound,
  ImageConflict,
  InvalidInput,
} from '#core/domain/errors.ts';
import { heardAt, isLost } from '#core/domain/host/presence.ts';
import { componentDueAt } from '#core/domain/host-work/deadlines.ts';
import type { HostProgram } from '#core/domain/host-work/host-work.ts';
import type { ReleaseId } from '#core/domain/ids.ts';
import { findDevice } from '#core/operations/devices/find-by-id.ts';
import { present } from '#core/shapes/derive/present.ts';
import { rowsPerComponentProgramMax } from '#core/store/inventory/component-programs.ts';
import { findUsableImage } from './find-usable-image.ts';

/**
 * Has a component of a device programmed: its shell, or firmware. The device is disabled, and no
 * bind gets a handle of it, until the host has answered. The same request again changes nothing.
 *
 * @throws DeviceNotFound, InvalidInput, ImageNotFound, ImageConflict, DeviceInUse, AgentAway
 */
export async function programComponent(
  deps: Deps,
  caller: Caller,
  deviceId: string,
  name: string,
  imageId: string,
): Promise<void> {
  const listed = await findDevice(deps, deviceId);
  // The index says which host has the device; its row is read from the table.
  const { host, devices } = await deps.store.inventory.host(listed.hostname);
  const device = devices.find(({ uuid }) => uuid === listed.uuid);
  if (!device || device.isGone) throw new DeviceNotFound(deviceId);
  const shown = versionOf(device, name);
  if (isRequested(device, name, imageId, shown)) return;
  const image = await findUsableImage(deps, imageId);
  const target = { ...device, component: name };
  const read = readComponentImage(image, target, deps.settings);
  if ('refusal' in read) throw new ImageConflict(read.refusal);
  if (isLost(host, deps.clock())) throw new AgentAway(device.hostname, heardAt(host));
  await start(deps, caller, device, { name, imageId: image.id, version: read.version });
}

/** @throws InvalidInput naming the components that the device has */
function versionOf({ uuid, components = [], ...device }: Device, name: string): string {
  const component = components.find((each) => each.name === name);
  if (component) return component.version;
  const names = components.map((each) => each.name).join(', ') || 'none';
  throw new InvalidInput(
    `Device ${uuid} (${modelOf(device)}) has no component ${name} that can be programmed; it has ${names}.`,
  );
}

/** Whether the last program of the component is under way for the image, or has succeeded. */
function isRequested(
  { programs = [] }: Device,
  name: string,
  imageId: string,
  shown: string,
): boolean {
  const note = programs.find(({ component }) => component === name);
  if (note?.image !== imageId || note.state === 'failed') return false;
  return note.state !== 'done' || note.version === shown;
}

interface Wanted {
  readonly name: string;
  readonly imageId: string;
  readonly version: string;
}

async function start(
  deps: Deps,
  caller: Caller,
  device: Device,
  { name, imageId, version }: Wanted,
): Promise<void> {
  const { uuid, hostname } = device;
  const providers = await deps.store.inventory.providers(device.providers);
  const handles = providers.flatMap((provider) => provider.handles);
  const taken = handles.find((handle) => handleStateOf(handle) !== 'free');
  if (taken)
    throw new DeviceInUse(uuid, `its attach handle ${taken.uuid} is ${handleStateOf(taken)}`);
  const [own] = device.providers;
  // The program keeps the device's handles, so a device without handles cannot be kept.
  if (!own || handles.length === 0) throw new DeviceInUse(uuid, 'it offers no attach handle');
  if (providers.length + handles.length > rowsPerComponentProgramMax) {
    throw new DeviceInUse(uuid, `it has more than ${rowsPerComponentProgramMax} attach handles`);
  }
  const at = new Date(deps.clock()).toISOString();
  const id = deps.uuid();
  const { userId: by, requestId } = caller;
  const note: ComponentNote = {
    id,
    component: name,
    version,
    image: imageId,
    by,
    at,
    state: 'started',
  };
  const program: HostProgram = {
    kind: 'program',
    id: id as ReleaseId,
    hostname,
    handles: handles.map((handle) => ({
      providerUuid: handle.providerUuid,
      handleUuid: handle.uuid,
    })),
    imageId,
    providerUuid: own,
    component: { name, version, deviceUuid: uuid, noteId: id },
    startedAt: at,
    ...present({ requestId }),
  };
  // A device that an operator has disabled stays so afterwards.
  const isOurs = device.status === 'enabled' || device.statusChange?.program !== undefined;
  const change: StatusChange | undefined = isOurs
    ? {
        status: 'maintaining',
        by,
        at,
        reason: `${name} is programmed with image ${imageId}`,
        program: id,
        ...present({ requestId }),
      }
    : undefined;
  const rows = {
    ...device,
    providers: providers.map(({ deployable }) => deployable.providerUuid),
  };
  const dueAt = componentDueAt(deps.clock());
  if (!(await deps.store.componentPrograms.start(rows, program, note, change, dueAt))) {
    throw new DeviceInUse(uuid, 'it has just changed; ask again');
  }
  deps.log.info('Program requested', { device: uuid, ...note });
}
