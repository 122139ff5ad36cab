// `npm run -s openapi`: the document that the API serves at /openapi.json.

import { document } from '#functions/versions/get-openapi.ts';

console.log(JSON.stringify(document('https://accelerator.example.org'), null, 2));
