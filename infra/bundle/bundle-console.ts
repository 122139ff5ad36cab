// Bundles the console, the web page of operators, into dist/console or the folder that `--out`
// names: a page, scripts and styles with the hash of their content in their names, each with its
// encoded copies, and the list from which the function `console` serves them.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import {
  type ConsoleEncoding,
  type ConsoleFiles,
  consoleEncodings,
  consoleListName,
  consolePage,
} from '#core/contracts/console-files.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const entry = 'console/main.tsx';
/** Where the API serves the files. */
const path = '/console/';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: `${root}dist/console` },
    // A local console needs no compressed files.
    quick: { type: 'boolean', default: false },
  },
});
const folder = resolve(values.out);

interface File {
  readonly name: string;
  readonly content: Uint8Array;
}

async function bundle(): Promise<File[]> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outdir: folder,
    publicPath: path,
    bundle: true,
    minify: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.woff2': 'file', '.png': 'file', '.svg': 'file' },
    define: { 'process.env.NODE_ENV': '"production"' },
    legalComments: 'external',
    logLevel: 'warning',
  });
  const files = outputFiles.map((file) => ({ name: nameOf(file.path), content: file.contents }));
  return [...files, { name: consolePage, content: Buffer.from(page(metafile)) }];
}

/** esbuild adds a second suffix to the licences of what a script has from packages. */
function nameOf(file: string): string {
  return basename(file).replace('.LEGAL.txt', '-legal.txt');
}

/** console/index.html with the names of the scripts and styles. */
function page(metafile: Metafile): string {
  const [main, made] = Object.entries(metafile.outputs).find(
    ([, { entryPoint }]) => entryPoint === entry,
  ) ?? ['', undefined];
  const styles = made?.cssBundle ? [made.cssBundle] : [];
  // Without these the browser would find them only in the main script.
  const needed = (made?.imports ?? []).filter(({ kind }) => kind === 'import-statement');
  const urlOf = (file: string) => `${path}${basename(file)}`;
  const head = [
    ...styles.map((file) => `<link rel="stylesheet" href="${urlOf(file)}">`),
    ...needed.map((each) => `<link rel="modulepreload" href="${urlOf(each.path)}">`),
    `<script type="module" src="${urlOf(main)}"></script>`,
  ];
  return readFileSync(`${root}console/index.html`, 'utf8')
    .replaceAll(/ *<script [^>]*src="[^"]*main\.tsx"[^>]*><\/script>\n?/g, '')
    .replace('</head>', `${head.join('\n')}\n</head>`);
}

const compress: Readonly<Record<ConsoleEncoding, (content: Uint8Array) => Promise<Uint8Array>>> = {
  br: (content) =>
    promisify(brotliCompress)(content, {
      params: { [constants.BROTLI_PARAM_QUALITY]: values.quick ? 4 : 11 },
    }),
  gzip: (content) => promisify(gzip)(content, { level: values.quick ? 4 : 9 }),
};

async function write(files: readonly File[], into: string): Promise<void> {
  const list = await Promise.all(
    files.map(async ({ name, content }) => {
      const type = types[extname(name)];
      if (type === undefined) throw new Error(`${name}: its type is not known.`);
      writeFileSync(join(into, name), content);
      const encodings: ConsoleEncoding[] = [];
      const isText = /^text|svg/.test(type);
      for (const encoding of isText ? (['br', 'gzip'] as const) : []) {
        const encoded = await compress[encoding](content);
        if (encoded.length >= content.length) continue;
        writeFileSync(join(into, `${name}${consoleEncodings[encoding]}`), encoded);
        encodings.push(encoding);
      }
      const digest = createHash('sha256').update(content).digest('base64url').slice(0, 22);
      return [name, { type, digest, encodings }] as const;
    }),
  );
  const listed: ConsoleFiles = Object.fromEntries(list);
  writeFileSync(join(into, consoleListName), JSON.stringify(listed));
}

const files = await bundle();
// The previous files are served until all of these are there.
const made = `${folder}.made-${process.pid}`;
mkdirSync(made, { recursive: true });
await write(files, made);
rmSync(folder, { recursive: true, force: true });
renameSync(made, folder);

for (const { name, content } of files) {
  console.log(`${String(Math.round(content.length / 1024)).padStart(6)} KB  ${name}`);
}
