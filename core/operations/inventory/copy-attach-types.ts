import { type AcceptedReport, novaVersionsAfter } from '#core/contracts/report/inventory-report.ts';
import type { Deps } from '#core/deps.ts';
import { type DeploymentTypes, isSameTypes, typesOfHost } from '#core/domain/arq/attach-types.ts';
import type { AttachType, Device } from '#core/domain/device/device.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import type { ReportPlan } from '#core/domain/report/report-plan.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { devicesAtOnce, forEachAtOnce } from '#core/operations/for-each-at-once.ts';

/** The deployment's setting, which decides where the host names no types. */
export interface Deployment {
  readonly settings: { readonly attachTypes: DeploymentTypes };
}

/** The types that the host names after the report, by its settings or its release of Nova. */
export function typesAfter(
  { settings }: Deployment,
  report: AcceptedReport,
  host: StoredHost,
): AttachType[] | undefined {
  const novaVersions = novaVersionsAfter(report, host);
  return typesOfHost({ named: report.attach_types, novaVersions }, settings.attachTypes);
}

/** Whether a device that the host has still has other types than the host names. */
export function hasOtherTypes(
  devices: readonly Device[],
  types: readonly AttachType[] | undefined,
): boolean {
  return devices.some((device) => isOther(device, types));
}

/**
 * Copies the types that a host's hypervisor takes to its stored devices, so that a bind reads one
 * partition only. The devices that a report changes are written with them. Runs under the lease of
 * the host's reports.
 *
 * @throws RetryLater if rows of a device have been deleted meanwhile
 */
export async function copyAttachTypes(
  { store: { inventory } }: Deps,
  devices: readonly Device[],
  { put, retire }: Pick<ReportPlan, 'put' | 'retire'>,
  types: readonly AttachType[] | undefined,
): Promise<void> {
  const isChanged = new Set([...put, ...retire].map(({ address }) => address));
  const others = devices.filter(
    (device) => isOther(device, types) && !isChanged.has(device.address),
  );
  await forEachAtOnce(others, devicesAtOnce, async (device) => {
    const providers = await inventory.providers(device.providers);
    // What is gone takes no bind, and is written whole when the host reports it again.
    const present = providers.flatMap(({ deployable }) => (deployable.isGone ? [] : [deployable]));
    if (await inventory.copyAttachTypes(device, present, types)) return;
    throw new RetryLater(`The device at ${device.address} of ${device.hostname} is changing.`, 1);
  });
}

function isOther(device: Device, types: readonly AttachType[] | undefined): boolean {
  return !device.isGone && !isSameTypes(device.hostAttachTypes, types);
}
