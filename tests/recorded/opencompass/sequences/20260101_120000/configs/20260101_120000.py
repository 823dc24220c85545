datasets = [
    dict(
        abbr='aime-lists',
        eval_cfg=dict(
            evaluator=dict(
                type='opencompass.openicl.icl_evaluator.EMEvaluator')),
        infer_cfg=dict(
            inferencer=dict(
                type='opencompass.openicl.icl_inferencer.GenInferencer'),
            prompt_template=dict(
                template=dict(round=[
                    dict(
                        prompt=
                        '{question}\nRemember to put your final answer within \\boxed{}.',
                        role='HUMAN'),
                ]),
                type='opencompass.openicl.icl_prompt_template.PromptTemplate'),
            retriever=dict(
                type='opencompass.openicl.icl_retriever.ZeroRetriever')),
        k=[
            1,
            2,
        ],
        n=2,
        path='logs/questions.jsonl',
        reader_cfg=dict(input_columns=[
            'question',
        ], output_column='answer'),
        type='opencompass.datasets.Aime2024Dataset'),
]
infer = dict(
    partitioner=dict(type='opencompass.partitioners.NaivePartitioner'),
    runner=dict(
        max_num_workers=1,
        task=dict(type='opencompass.tasks.OpenICLInferTask'),
        type='opencompass.runners.LocalRunner'))
models = [
    dict(
        abbr='lists',
        batch_size=5,
        generation_kwargs=dict(num_return_sequences=2),
        max_out_len=64,
        path='logs/lists.asked.json',
        run_cfg=dict(num_gpus=0),
        type='make_opencompass_logs.Model'),
]
work_dir = 'logs/sequences/20260101_120000'
