/** The nodes of a graph as a table. */
import type { GraphState } from '../protocol';
import { csv } from '../common/exporting';
import { dimensionText } from '../common/parts';

/** One row a node. */
export function nodesTable(state: GraphState): string {
  const rows = state.nodes.map(node => [
    node.id,
    node.kind,
    node.op,
    node.scope.join('.'),
    node.dtype,
    node.dims.map(dimensionText).join(' '),
    node.parameters,
    node.flops,
    node.bytes,
    node.source
  ]);
  return csv([
    ['id', 'kind', 'op', 'scope', 'dtype', 'dims', 'parameters', 'flops', 'bytes', 'source'],
    ...rows
  ]);
}
