// The software bill of materials of the agent's package, in CycloneDX 1.6
// (https://cyclonedx.org/docs/1.6/json/): what the bundle contains, by esbuild's account of it,
// and Node.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
}

/** @param at seconds since 1970, in place of the time of the build */
export function billOfMaterials(
  bundle: Metafile,
  { version, nodeVersion, at }: { version: string; nodeVersion: string; at: number },
): unknown {
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  const folders = new Set(Object.keys(bundle.inputs).flatMap((file) => packageFolder(file) ?? []));
  const bundled = [...folders].sort().flatMap((folder) => {
    const locked = packages[folder];
    return locked ? [component(folder.replace(/^.*node_modules\//, ''), locked)] : [];
  });
  const agent = { type: 'application', name: 'cyborg-agent', version };
  const node = {
    type: 'application',
    name: 'node',
    version: nodeVersion,
    purl: `pkg:generic/node@${nodeVersion}`,
  };
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { timestamp: new Date(at * 1000).toISOString(), component: agent },
    components: [...bundled, node],
  };
}

/** `node_modules/<name>`, also of a package below another; undefined for our own files. */
function packageFolder(file: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
}

function component(name: string, { version, integrity, license }: LockedPackage) {
  const [, digest] = /^sha512-(.+)$/.exec(integrity ?? '') ?? [];
  return {
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(license && { licenses: [{ license: { name: license } }] }),
    ...(digest && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    }),
  };
}
