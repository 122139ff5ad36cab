// The software bill of materials of a lockfile in CycloneDX, as npm reads it. Of the agent's
// package, its own names what its bundle contains.

import { createHash } from 'node:crypto';
import { runTool } from '#infra/agent-package/run-tool.ts';

interface BillOfMaterials {
  serialNumber: string;
  readonly metadata: { timestamp: string; readonly component: { name: string } };
  readonly components: readonly { readonly purl: string }[];
}

/**
 * npm numbers each bill at random, dates it now, and names the project after its folder.
 *
 * @param name of the project
 * @param at seconds since 1970, in place of the time of the build
 * @throws PackagingFailed
 */
export function readBillOfMaterials(folder: string, name: string, at: number): BillOfMaterials {
  const lockfileOnly = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const bill: BillOfMaterials = JSON.parse(runTool('npm', ['--prefix', folder, ...lockfileOnly]));
  bill.serialNumber = '';
  bill.metadata.timestamp = new Date(at * 1000).toISOString();
  bill.metadata.component.name = name;
  const digest = createHash('sha256').update(JSON.stringify(bill)).digest();
  bill.serialNumber = `urn:uuid:${uuidOf(digest)}`;
  return bill;
}

/** Version 8 of RFC 9562, whose content is the application's. */
function uuidOf(digest: Buffer): string {
  const bytes = digest.subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
