// Looks at libvirt's definitions of servers as the guards do: a folder with another path than
// libvirt's has no stopped server in it.

import { type DomainsFolder, openDomains } from '#agent/guards/libvirt/domains.ts';
import type { Print } from './examine-driver.ts';

export async function examineDomains(folder: DomainsFolder, print: Print): Promise<void> {
  const say = (outcome: 'seen' | 'not seen' | 'failed', what: string) =>
    print({ driver: 'libvirt', outcome, what });
  const { byFunction, unknown, count } = await openDomains(folder)();
  if (unknown !== undefined) say('failed', `Functions of servers are not all known: ${unknown}.`);
  else if (count === undefined) {
    say('not seen', `${folder.path} is absent: stopped servers and their devices are not known.`);
  } else {
    say('seen', `Servers in ${folder.path}: ${count}, with ${byFunction.size} PCI functions.`);
  }
}
