// `npm run docs`: the documents as a site in dist/docs, or the folder that `--out` names. A dead
// link fails it. Open dist/docs/index.html in a browser, or serve the folder as static files.

import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runTool } from '#infra/agent-package/run-tool.ts';
import { writeWhole } from '#infra/agent-package/whole-folder.ts';
import { buildSite, isPicture, SiteFailed } from './site.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: { out: { type: 'string', default: join(root, 'dist/docs') } },
});
const folder = resolve(values.out);
const files = runTool('git', ['-C', root, 'ls-files'])
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const documents = new Map(
  files
    .filter((file) => file.endsWith('.md') && !file.startsWith('.'))
    .map((file) => [file, readFileSync(join(root, file), 'utf8')]),
);

try {
  const site = buildSite(documents, (path) => existsSync(join(root, path)));
  writeWhole(folder, (into) => {
    for (const [path, text] of site) {
      mkdirSync(dirname(join(into, path)), { recursive: true });
      writeFileSync(join(into, path), text);
    }
    const pictures = files.filter((file) => file.startsWith('docs/') && isPicture(file));
    for (const file of pictures) cpSync(join(root, file), join(into, file));
    for (const name of ['search.js', 'site.css']) {
      cpSync(join(root, 'infra/docs', name), join(into, name));
    }
  });
  console.log(`${folder}: ${documents.size} pages`);
} catch (error) {
  if (!(error instanceof SiteFailed)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
