// `npm run -s events`: JSON Schema of each event's detail, by detail-type.

import * as z from 'zod';
import { eventDetails } from '#core/contracts/events.ts';

const schemas = Object.entries(eventDetails).map(([type, schema]) => [
  type,
  // Fields may be added to a version, so consumers must ignore unknown ones.
  z.toJSONSchema(schema, { io: 'input' }),
]);
console.log(JSON.stringify(Object.fromEntries(schemas), null, 2));
