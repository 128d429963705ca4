/** The one door through which the views see the messages. */
export * from '../../protocol/src/index';
