import { type Finding, perform } from '#core/command-line/checks.ts';
import { oneLine } from '#operate/print-line.ts';
import { apiChecks } from './api.ts';
import type { CheckContext } from './check.ts';
import { examineHosts } from './hosts.ts';
import { iotChecks } from './iot.ts';
import { openstackChecks } from './openstack.ts';
import { storageChecks } from './storage.ts';

/** Yields each finding as soon as its check ends; changes nothing. */
export async function* examine(patient: CheckContext): AsyncGenerator<Finding> {
  for (const check of [...openstackChecks, ...apiChecks, ...storageChecks, ...iotChecks]) {
    yield withOneLine(await perform(check, patient));
  }
  yield* (await examineHosts(patient)).map(withOneLine);
}

/** Hosts and services have written parts of the texts, which must not look like other findings. */
export function withOneLine(finding: Finding): Finding {
  const texts = Object.entries(finding).map(([name, text]) => [name, oneLine(text)]);
  return Object.fromEntries(texts) as Finding;
}
