import { action } from '../http/action.ts';
import { noQuery } from '../http/query.ts';
import { rootDocument } from './documents.ts';

export const getRoot = action({ query: noQuery }, async ({ base }) => ({
  body: rootDocument(base),
}));
