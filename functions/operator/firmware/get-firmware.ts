import * as z from 'zod';
import { firmwareAnswer } from '#core/contracts/api/programs.ts';
import type { Deps } from '#core/deps.ts';
import { type Device, operatorStatus } from '#core/domain/device/device.ts';
import { isUnhealthy } from '#core/domain/device/device-health.ts';
import { kindOfComponent, modelOf } from '#core/domain/device/firmware/component-image.ts';
import {
  type FirmwareBaseline,
  findBaseline,
} from '#core/domain/device/firmware/firmware-baselines.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { viewPrograms } from '#functions/http/programs.ts';
import { listAction } from '#functions/operator/list.ts';
import { fillPage } from '#functions/operator/page.ts';

/** Devices that one request reads at most. */
const readMax = 2000;

const marker = z.guid().toLowerCase();

/** Devices whose driver can program parts of them, in the order of their uuids. */
export const getFirmware = listAction('firmware', { marker }, async ({ deps, query }) => {
  const { model, host, device, limit, marker } = query;
  const baselines = await deps.store.baselines.baselines();
  const isListed = (each: Device) =>
    !each.isGone &&
    (each.components ?? []).length > 0 &&
    (model === undefined || modelOf(each) === model) &&
    (host === undefined || each.hostname === host);
  const page = await fillPage({ limit, marker, readMax }, async (after, count) => {
    const devices = await readDevices(deps, { device, host }, after, count);
    return devices.map((each) => ({ marker: each.uuid, row: isListed(each) ? each : undefined }));
  });
  const deployables = await shellDeployables(deps, page.rows);
  const rows = page.rows.map((each) => viewFirmware(each, baselines, deployables.get(each.uuid)));
  return { rows, next: page.next };
});

interface Place {
  readonly device: string | undefined;
  readonly host: string | undefined;
}

/** The index lags behind: devices of a named host are read from its table. */
async function readDevices(
  deps: Deps,
  { device, host }: Place,
  after = '0',
  count: number,
): Promise<Device[]> {
  const hostname = device ? (await deps.listings.deviceByUuid(device))?.hostname : host;
  if (device === undefined && host === undefined) return deps.listings.devicesAfter(after, count);
  if (hostname === undefined) return [];
  const { devices } = await deps.store.inventory.host(hostname);
  return devices
    .filter(({ uuid }) => uuid > after && (device === undefined || uuid === device))
    .sort((one, other) => (one.uuid < other.uuid ? -1 : 1))
    .slice(0, count);
}

/** Device → the deployable of its shell. */
async function shellDeployables(
  deps: Deps,
  devices: readonly Device[],
): Promise<Map<string, string>> {
  const own = devices
    .filter(({ components = [] }) => components.some(({ name }) => isShell(name)))
    .flatMap(({ providers }) => providers.slice(0, 1));
  const places = await deps.store.inventory.placesOf(own);
  return new Map(
    [...places.values()].map(({ device, deployable }) => [device.uuid, deployable.uuid]),
  );
}

const isShell = (component: string) => kindOfComponent(component) === 'shell';

function viewFirmware(
  device: Device,
  baselines: readonly FirmwareBaseline[],
  shellDeployableUuid: string | undefined,
) {
  const { components = [] } = device;
  return toWire(firmwareAnswer, {
    ...device,
    status: operatorStatus(device.status),
    deviceUuid: device.uuid,
    model: modelOf(device),
    health: isUnhealthy(device) ? device.health?.reason : undefined,
    components: components.map((each) => ({
      ...each,
      baseline: findBaseline(device, each.name, baselines),
    })),
    programs: viewPrograms(device, true),
    shellDeployableUuid,
  });
}
