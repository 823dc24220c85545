"""What the data set configs share: the protocol's prompt, a seed for each sample, and the judge.

Answers are judged by rule; with a model and its URLs, by an LLM.
"""

reader_cfg = dict(input_columns=['prompt'], output_column='answer')

# max_out_len is the model's.
infer_cfg = dict(
    prompt_template=dict(
        type='opencompass.openicl.icl_prompt_template.PromptTemplate',
        template=dict(round=[dict(role='HUMAN', prompt='{prompt}')]),
    ),
    retriever=dict(type='opencompass.openicl.icl_retriever.ZeroRetriever'),
    inferencer=dict(type='gpassk_opencompass.SeededGenInferencer'),
)

eval_cfg = dict(evaluator=dict(type='gpassk_opencompass.GPassKEvaluator', model_name='', url=[]))
