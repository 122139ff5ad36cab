// `npm run docs`: the documents as a site in dist/docs, or the folder that `--out` names. A server
// of plain files serves it, at the path that `--base` names. A dead link fails it.

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { PackagingFailed } from '#infra/agent-package/run-tool.ts';
import { writeWhole } from '#infra/agent-package/whole-folder.ts';
import { buildSite, installSite, root } from './site.ts';

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: `${root}dist/docs` },
    base: { type: 'string', default: '/' },
  },
});
const folder = resolve(values.out);

try {
  installSite();
  writeWhole(folder, (into) => buildSite(into, values.base));
  console.log(`${folder}: serve it at ${values.base}`);
} catch (error) {
  if (!(error instanceof PackagingFailed)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
