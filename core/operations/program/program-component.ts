import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import type { ComponentNote, Device } from '#core/domain/device/device.ts';
import { modelOf, readComponentImage } from '#core/domain/device/firmware/component-image.ts';
import { checkMayProgram } from '#core/domain/device/firmware/program-grants.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';
import { DeviceInUse, DeviceNotFound, ImageConflict, InvalidInput } from '#core/domain/errors.ts';
import { AgentAway } from '#core/domain/host/host-errors.ts';
import { heardAt, isLost } from '#core/domain/host/presence.ts';
import { readDevice } from '#core/operations/devices/find-by-id.ts';
import { present } from '#core/shapes/derive/present.ts';
import { findUsableImage } from './find-usable-image.ts';
import { drainFirst, readHandles, startComponent } from './start-component.ts';

/**
 * Has a component of a device programmed: its shell, or firmware. The device is disabled, and no
 * bind gets a handle of it, until the host has answered. The same request again changes nothing.
 *
 * @throws DeviceNotFound, Forbidden, InvalidInput, ImageNotFound, ImageConflict, DeviceInUse,
 *   AgentAway
 */
export async function programComponent(
  deps: Deps,
  caller: Caller,
  deviceId: string,
  { name, imageId, drains }: ComponentRequest,
): Promise<void> {
  const { host, device } = await readDevice(deps, deviceId);
  if (device.isGone) throw new DeviceNotFound(deviceId);
  checkMayProgram(device, caller, deps.settings.policy, deps.clock());
  const shown = versionOf(device, name);
  if (isRequested(device, name, imageId, shown)) return;
  const image = await findUsableImage(deps, imageId);
  const target = { ...device, component: name };
  const read = readComponentImage(image, target, deps.settings);
  if ('refusal' in read) throw new ImageConflict(read.refusal);
  if (isLost(host, deps.clock())) throw new AgentAway(device.hostname, heardAt(host));
  const draining = device.programs?.find(({ state }) => state === 'draining');
  if (draining) throw new DeviceInUse(device.uuid, `${draining.component} waits for its handles`);
  const { userId: by, requestId } = caller;
  const at = new Date(deps.clock()).toISOString();
  const { version } = read;
  const note: ComponentNote = {
    id: deps.uuid(),
    component: name,
    version,
    image: image.id,
    by,
    at,
    state: 'started',
  };
  const handles = await readHandles(deps, device);
  const taken = handles.find((handle) => handleStateOf(handle) !== 'free');
  if (!taken) return await startComponent(deps, device, note, present({ requestId }));
  if (!drains) {
    throw new DeviceInUse(
      device.uuid,
      `its attach handle ${taken.uuid} is ${handleStateOf(taken)}`,
    );
  }
  await drainFirst(deps, device, note, present({ requestId }));
}

interface ComponentRequest {
  readonly name: string;
  readonly imageId: string;
  /** Disable the device, and wait until no server has it. */
  readonly drains: boolean;
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
