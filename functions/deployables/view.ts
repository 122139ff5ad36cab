import { deployableAnswer } from '#core/contracts/api/deployables.ts';
import { attributesOf } from '#core/domain/device/attribute.ts';
import type { Deployable, Device } from '#core/domain/device/device.ts';
import { integerId } from '#core/domain/integer-id.ts';
import { deployableUuid } from '#core/domain/report/device-plan.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type Link, selfLink } from '#functions/http/links.ts';
import { viewPrograms } from '#functions/http/programs.ts';

/**
 * @param seesUsers who reads devices without the operators' role sees no ids of users
 * @param components those of its device, for the progress of their programs
 */
export function viewDeployable(
  deployable: Deployable,
  base: string,
  seesUsers: boolean,
  components?: Device['components'],
) {
  const path = `/deployables/${deployable.uuid}`;
  const bookmark: Link = { href: `${base}/accelerator${path}`, rel: 'bookmark' };
  const { program } = deployable;
  return toWire(deployableAnswer, {
    ...deployable,
    parentId: parentId(deployable),
    rootId: parentId(deployable),
    deviceId: integerId(deployable.deviceUuid),
    attributesList: attributesList(deployable),
    rpUuid: deployable.providerUuid,
    driverName: deployable.driver,
    // Not in Cyborg: the outcome of the last program that an operator requested.
    program: program && { ...program, imageUuid: program.image, requestedAt: program.at },
    programs: viewPrograms({ ...deployable, ...present({ components }) }, seesUsers),
    links: [selfLink(base, path), bookmark],
  });
}

/** A region's parent is its device's own deployable; a region has no children. */
function parentId({ name, region }: Deployable): number | null {
  if (region === undefined) return null;
  return integerId(deployableUuid(name.slice(0, -`_${region}`.length)));
}

/** JSON text: a list of objects of one key each. */
function attributesList(deployable: Deployable): string {
  return JSON.stringify(attributesOf(deployable).map(({ key, value }) => ({ [key]: value })));
}
