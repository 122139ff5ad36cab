// Where the accelerators of a host are, who holds which, and what its pools can give together.

import { topologyAnswer } from '#core/contracts/api/operator/hosts.ts';
import type { AttachHandle, Deployable, Device } from '#core/domain/device/device.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';
import { countTogether } from '#core/domain/pool/pool-sizes.ts';
import { isPool } from '#core/domain/pool/wholes.ts';
import { findHost } from '#core/operations/hosts/find-host.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { action } from '#functions/http/action.ts';

export const getTopology = action(
  { answers: { 200: topologyAnswer }, refuses: [404] },
  async ({ deps, id }) => {
    const { devices } = await findHost(deps, id);
    const there = devices.filter(({ isGone }) => !isGone);
    const providers = await deps.store.inventory.providers(
      there.flatMap((device) => device.providers),
    );
    const offered = providers.flatMap(({ deployable, handles }) => {
      const device = there.find(({ uuid }) => uuid === deployable.deviceUuid);
      const kept = handles.filter(({ isGone, claim }) => !isGone || claim);
      return device ? [{ device, deployable, handles: kept }] : [];
    });
    const body = {
      hostname: id,
      units: offered.flatMap(({ device, deployable, handles }) =>
        handles.map((handle) => viewUnit(device, deployable, handle)),
      ),
      pools: offered.flatMap(({ device, handles }) =>
        isPool(handles) ? [viewPool(device, handles)] : [],
      ),
    };
    return { body: toWire(topologyAnswer, body) };
  },
);

function viewUnit(device: Device, deployable: Deployable, handle: AttachHandle) {
  const { locality = { numa: device.numaNode, root: device.pcieRoot }, claim } = handle;
  return {
    attachHandleUuid: handle.uuid,
    deviceUuid: device.uuid,
    deviceAddress: device.address,
    type: device.type,
    resourceClass: deployable.resourceClass,
    address: pciFunction(handle),
    state: handleStateOf(handle),
    instanceUuid: claim?.instanceUuid,
    projectId: claim?.facts?.projectId,
    ...locality,
  };
}

function viewPool({ uuid, address }: Device, handles: readonly AttachHandle[]) {
  const isFree = (handle: AttachHandle) => handleStateOf(handle) === 'free';
  return {
    deviceUuid: uuid,
    deviceAddress: address,
    units: handles.length,
    free: handles.filter(isFree).length,
    together: countTogether(handles, isFree),
  };
}
