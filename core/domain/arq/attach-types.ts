// Which types of attach handles the hypervisor of a host takes. Nova's libvirt driver ignores a
// handle of another type; before release 34, it starts the instance without any accelerator then.
//
// The host's own setting counts before the deployment's, and both before the release of Nova.

import type { AttachType, Device } from '#core/domain/device/device.ts';
import { type NotOffered, refusedNow, type StoredHost } from '#core/domain/host/host.ts';
import { attachTarget, type Group } from '#core/domain/profile/device-profile.ts';
import { attachTypes } from '#core/shapes/vocabulary/words.ts';
import type { StoredProvider } from './bind-plan.ts';

/** What any Nova attaches, with the handles of the fake driver. */
const takenByAny: readonly AttachType[] = ['PCI', 'TEST_PCI'];

/**
 * The type that every Nova leaves alone: the specification of the interaction with Nova has it for
 * attach handles that no hypervisor attaches.
 */
export const leftAlone = 'TEST_PCI' satisfies AttachType;

/** The type that Nova is shown: a group for the host, or for nothing, is not attached. */
export function attachedAs(group: Group, type: AttachType): AttachType {
  return attachTarget(group) === 'VM' ? type : leftAlone;
}

/** The first release of Nova that attaches the mediated devices of accelerator requests. */
const mdevSince = 34;

/** What the host names; undefined where the deployment decides, or any Nova's types hold. */
export function typesOfHost(
  { named, novaVersions }: HostNames,
  deploymentTypes: DeploymentTypes,
): AttachType[] | undefined {
  if (named) return knownAttachTypes(named);
  return deploymentTypes || !attachesMdevs(novaVersions) ? undefined : [...attachTypes];
}

interface HostNames {
  /** From the agent's settings; a newer agent may name types that are unknown here. */
  readonly named: readonly string[] | undefined;
  readonly novaVersions: readonly string[] | undefined;
}

/** The deployment's setting; undefined: it has none. */
export type DeploymentTypes = readonly AttachType[] | undefined;

/** While a host has two releases, either may start the server. */
function attachesMdevs(novaVersions: readonly string[] = []): boolean {
  const majors = novaVersions.map((version) => Number.parseInt(version, 10));
  return majors.length > 0 && majors.every((major) => major >= mdevSince);
}

/** The host's own, or those of the deployment where the host names none. */
export function typesTaken(
  { deployable: { hostAttachTypes } }: Pick<StoredProvider, 'deployable'>,
  deploymentTypes: DeploymentTypes,
): readonly AttachType[] {
  return takenBy(hostAttachTypes, deploymentTypes);
}

function takenBy(
  hostTypes: readonly AttachType[] | undefined,
  deploymentTypes: DeploymentTypes,
): readonly AttachType[] {
  return hostTypes ?? deploymentTypes ?? takenByAny;
}

/** Types of the provider's attach handles that the hypervisor of its host does not take. */
export function typesRefused(
  provider: StoredProvider,
  deploymentTypes: DeploymentTypes,
): AttachType[] {
  const taken = typesTaken(provider, deploymentTypes);
  const handleTypes = provider.handles.flatMap(({ type, isGone }) => (isGone ? [] : [type]));
  // A bind reads some of the handles only; the deployable has the types of all.
  const types = new Set([...(provider.deployable.attachTypes ?? []), ...handleTypes]);
  return [...types].filter((type) => !taken.includes(type));
}

/** The known ones of these names, in one order. */
function knownAttachTypes(names: readonly string[]): AttachType[] {
  return attachTypes.filter((type) => names.includes(type));
}

/** What the host does not offer, with the devices that its hypervisor does not take. */
export function allNotOffered(
  { host, devices, notOffered }: HostDevices,
  deploymentTypes: DeploymentTypes,
): readonly NotOffered[] {
  const taken = takenBy(host.attachTypes, deploymentTypes);
  const refused = devices.flatMap(({ address, driver, isGone, attachTypes: types = [] }) => {
    const left = isGone ? [] : types.filter((type) => !taken.includes(type));
    const words = `attaches as ${left.join(', ')}, which the hypervisor does not take: `;
    const reason = words + causeOf(host, deploymentTypes);
    return left.length > 0 ? [{ address, driver, reason }] : [];
  });
  const invalid = refusedNow(host.refused).map(([address, { driver = 'unknown', reason }]) => {
    return { address, driver, reason };
  });
  return [...notOffered, ...refused, ...invalid];
}

interface HostDevices {
  readonly host: Pick<StoredHost, 'attachTypes' | 'novaVersions'> &
    Partial<Pick<StoredHost, 'refused'>>;
  readonly devices: readonly Pick<Device, 'address' | 'driver' | 'isGone' | 'attachTypes'>[];
  /** From its last report. */
  readonly notOffered: readonly NotOffered[];
}

/** Why the hypervisor does not take a type. */
function causeOf(
  { attachTypes: hostTypes, novaVersions = [] }: HostDevices['host'],
  deploymentTypes: DeploymentTypes,
): string {
  if (hostTypes) return "the agent's attach_types leave it out";
  if (deploymentTypes) return "the deployment's attachTypes leave it out";
  if (novaVersions.length > 0) {
    return `the host has Nova ${novaVersions.join(' and ')}, and ${mdevSince} or later does`;
  }
  return "the host's release of Nova was not found; the agent's attach_types can name the type";
}

/** Whether two hosts, or a host at two times, name the same types. */
export function isSameTypes(
  one: readonly AttachType[] | undefined,
  other: readonly AttachType[] | undefined,
): boolean {
  return one?.join() === other?.join();
}
