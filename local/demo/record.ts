// `npm run demo:record`: runs the demo and stores its output as docs/demo.md and docs/demo.svg, in
// which each line appears at its time.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { takeNoArguments } from '#core/command-line/arguments.ts';

interface Line {
  readonly text: string;
  readonly atMs: number;
}

takeNoArguments('npm run demo:record    runs the demo and writes docs/demo.md and docs/demo.svg');

const docs = join(import.meta.dirname, '../..', 'docs');

async function recordDemo(): Promise<readonly Line[]> {
  const demo = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(demo, 'close');
  const startedAt = performance.now();
  const lines: Line[] = [];
  for await (const text of createInterface({ input: demo.stdout })) {
    lines.push({ text, atMs: performance.now() - startedAt });
  }
  const [code] = await closed;
  if (code !== 0) throw new Error(`The demo ended with exit code ${code}; nothing is recorded.`);
  return lines;
}

function page(lines: readonly Line[]): string {
  return `# The demo

\`npm run demo\` starts a system of its own on free ports, boots servers with each kind of accelerator, and ends with 0 only if every step holds.
It needs nothing but \`npm ci\`: OpenStack is played by fakes, and hardware by the agent's fake drivers.
\`npm run demo:record\` has recorded what follows; times are of one run on one machine.

![The recorded demo](demo.svg)

\`\`\`
$ npm run -s demo
${lines.map(({ text }) => text).join('\n')}
\`\`\`
`;
}

/** Hides each line until its time; a viewer without animation shows all lines. */
function drawing(lines: readonly Line[]): string {
  const all = [{ text: '$ npm run -s demo', atMs: 0 }, ...lines];
  const height = all.length * 20 + 24;
  const width = Math.max(...all.map(({ text }) => text.length)) * 8.5 + 32;
  const texts = all.map(({ text, atMs }, index) => {
    const hidden = `<set attributeName="opacity" to="0" begin="0s" dur="${(atMs / 1000).toFixed(2)}s"/>`;
    return `  <text x="16" y="${index * 20 + 28}">${escaped(text)}${atMs > 0 ? hidden : ''}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img" aria-label="The recorded demo">
  <style>text { font: 14px monospace; fill: #e6edf3; white-space: pre; }</style>
  <rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${texts.join('\n')}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const lines = await recordDemo();
writeFileSync(join(docs, 'demo.md'), page(lines));
writeFileSync(join(docs, 'demo.svg'), drawing(lines));
console.log(`${lines.length} lines are recorded in docs/demo.md and docs/demo.svg.`);
