// Asks the search of the site without building the site. Standard input has a JSON array of
// questions; one line of standard output has, for each, the paths of the sections that match,
// best first. Vite may print other lines, each with the time.

import { readFileSync } from 'node:fs';
import MiniSearch from 'minisearch';
import { createServer } from 'vitepress';
import { miniSearch } from './.vitepress/search.ts';

const questions: string[] = JSON.parse(readFileSync(0, 'utf8'));
const server = await createServer(import.meta.dirname);
const { default: json } = await server.ssrLoadModule('@localSearchIndexroot');
await server.close();
const index = MiniSearch.loadJSON(json, miniSearch);
const answers = questions.map((question) => index.search(question).map(({ id }) => String(id)));
process.stdout.write(`\n${JSON.stringify(answers)}\n`);
