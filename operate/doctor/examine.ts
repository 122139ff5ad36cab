import { type Finding, perform } from '#core/command-line/checks.ts';
import { apiChecks } from './api.ts';
import type { CheckContext } from './check.ts';
import { examineHosts } from './hosts.ts';
import { imageChecks } from './images.ts';
import { iotChecks } from './iot.ts';
import { keptChecks } from './kept.ts';
import { openstackChecks } from './openstack.ts';
import { storageChecks } from './storage.ts';

/** Yields each finding as soon as its check ends; changes nothing. */
export async function* examine(patient: CheckContext): AsyncGenerator<Finding> {
  for (const check of [
    ...openstackChecks,
    ...apiChecks,
    ...storageChecks,
    ...keptChecks,
    ...imageChecks,
    ...iotChecks,
  ]) {
    yield await perform(check, patient);
  }
  yield* await examineHosts(patient);
}
